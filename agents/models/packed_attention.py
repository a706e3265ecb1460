"""Attention over packed sequences, or over a forest of their shared prefixes.

Every transformers model that supports custom attention runs on one flat row of N tokens; only this module knows which
tokens attend to which. The tokens are cut into blocks, blocks of similar size are stacked, and each stack is one
attention call; only stacks are padded. In sampling, blocks attend to a cache of their slots' earlier tokens; in
training, to tokens of the flat row. Both give the result of the padded computation of each sequence.

Not supported: sliding windows, attention sinks, logit soft caps and encoder-decoder models; `agents.models.policy`
rejects such models. Dropout is not supported either: sequences would share the dropout of their shared prefix.

Letters: N tokens of the call; M queries and L keys of all stacks, with padding; of one stack B blocks, Q queries and K
keys; S slots, T cached positions, H heads, D head width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import AttentionInterface

from cairn.agents.models.attention_blocks import Block, make_forest, stacked
from cairn.core.records import IntArray

NAME = "cairn_ragged"
_VIEWED = 0.5  # from this share of active slots on, attention reads the whole cache
_GPU_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class SlotCache:
    """Keys and values of S slots, each with its own length; grows in T as needed."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.capacity = 0
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}  # layer -> keys, values, each [S, H, T, D]

    def reserve(self, length: int) -> None:
        """Ensure a capacity of `length` positions in every slot."""
        if length <= self.capacity:
            return
        self.capacity = max(256, -(-length // 256) * 256, self.capacity * 3 // 2)
        for layer, (keys, values) in self._layers.items():
            extra = self.capacity - keys.shape[2]
            self._layers[layer] = (F.pad(keys, (0, 0, 0, extra)), F.pad(values, (0, 0, 0, extra)))

    def write(self, layer: int, slots_N: Tensor, positions_N: Tensor, keys_NHD: Tensor, values_NHD: Tensor) -> None:
        """Store one layer's new keys and values."""
        if layer not in self._layers:
            shape = (self.num_slots, keys_NHD.shape[1], self.capacity, keys_NHD.shape[2])
            self._layers[layer] = (keys_NHD.new_zeros(shape), keys_NHD.new_zeros(shape))
        keys, values = self._layers[layer]
        keys[slots_N, :, positions_N] = keys_NHD
        values[slots_N, :, positions_N] = values_NHD

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` keys and values of one slot to another."""
        for keys, values in self._layers.values():
            for tensor in (keys, values):
                tensor[target, :, :length] = tensor[source, :, :length]

    def views(self, layer: int, slots: Sequence[int], lengths: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
        """Return the first keys and values of each slot, [1, H, length, D] each, without a copy."""
        keys, values = self._layers[layer]
        parts = zip(slots, lengths, strict=True)
        return [(keys[slot : slot + 1, :, :length], values[slot : slot + 1, :, :length]) for slot, length in parts]

    def read(self, layer: int, slots_S: Tensor | None, length: int) -> tuple[Tensor, Tensor]:
        """Return keys and values [S, H, length, D] of the slots (None: all of them)."""
        keys, values = (tensor[:, :, :length] for tensor in self._layers[layer])
        return (keys, values) if slots_S is None else (keys[slots_S], values[slots_S])


@dataclass(frozen=True)
class Stack:
    """B blocks of similar size."""

    num_blocks: int
    num_queries: int  # Q
    num_keys: int  # K
    mask: Tensor | None  # [B, 1, Q, K], True where a query attends; None: see `is_causal`
    is_causal: bool = False  # query i attends to the keys up to i; else, without a mask, to all keys


@dataclass(frozen=True)
class CachedKeys:
    """Attends to a cache; new tokens are written to it first."""

    cache: SlotCache
    slots_N: Tensor
    positions_N: Tensor
    slots_B: Tensor | None  # slot of each block; None: block i is slot i
    length: int  # T

    def look(self, layer: int, keys_NHD: Tensor, values_NHD: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return the one stack's keys and values [B, H, T, D]."""
        self.cache.write(layer, self.slots_N, self.positions_N, keys_NHD, values_NHD)
        return [self.cache.read(layer, self.slots_B, self.length)]


@dataclass(frozen=True)
class SlotViews:
    """Attends to each slot's part of a cache, without padding or copies; new tokens are written to it first."""

    cache: SlotCache
    slots_N: Tensor
    positions_N: Tensor
    slots: Sequence[int]  # of the stacks, which have one block each
    lengths: Sequence[int]  # K of each stack

    def look(self, layer: int, keys_NHD: Tensor, values_NHD: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return each slot's keys and values [1, H, K, D]."""
        self.cache.write(layer, self.slots_N, self.positions_N, keys_NHD, values_NHD)
        return self.cache.views(layer, self.slots, self.lengths)


@dataclass(frozen=True)
class OwnKeys:
    """Attends to the tokens of the call itself."""

    shapes: Sequence[tuple[int, int]]  # (B, K) of each stack
    tokens_L: Tensor

    def look(self, layer: int, keys_NHD: Tensor, values_NHD: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return each stack's keys and values [B, H, K, D]."""
        keys, values = (_gathered(x_NHD, self.tokens_L, self.shapes) for x_NHD in (keys_NHD, values_NHD))
        return list(zip(keys, values, strict=True))


@dataclass(frozen=True)
class Ragged:
    """The attention pattern of N flat tokens."""

    positions_N: Tensor  # position in its sequence
    stacks: Sequence[Stack]
    queries_M: Tensor  # token of each query; padding repeats a token
    outputs_N: Tensor  # query of each token
    keys: CachedKeys | SlotViews | OwnKeys

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> Ragged:
        """Build the pattern of concatenated whole sequences."""
        return cls.tree(np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]), device)

    @classmethod
    def tree(cls, positions_N: IntArray, device: torch.device) -> Ragged:
        """Build the pattern of a forest in preorder from its tokens' depths.

        Each token attends to its ancestors and to itself.
        """
        forest = make_forest(positions_N)
        ends_N = torch.as_tensor(np.append(forest.ends_N, 0), device=device)  # plus one entry for padding
        outputs_N = np.empty(len(positions_N), np.int64)
        stacks, queries, keys, num_queries = [], [], [], 0
        for blocks in stacked(forest.blocks):
            queries_BQ, keys_BK = _padded(blocks, padding=len(positions_N))
            for row, block in enumerate(blocks):
                first = num_queries + row * queries_BQ.shape[1]
                outputs_N[block.start : block.stop] = np.arange(first, first + block.num_queries)
            num_queries += queries_BQ.size
            mask, is_causal = None, blocks[0].is_chain
            if not is_causal:
                mask = _is_ancestor(
                    torch.as_tensor(keys_BK, device=device), torch.as_tensor(queries_BQ, device=device), ends_N
                )
            stacks.append(Stack(len(blocks), queries_BQ.shape[1], keys_BK.shape[1], mask, is_causal))
            queries.append(queries_BQ.ravel())
            keys.append(np.minimum(keys_BK, len(positions_N) - 1).ravel())
        return cls(
            positions_N=torch.as_tensor(positions_N, dtype=torch.long, device=device),
            stacks=stacks,
            queries_M=torch.as_tensor(np.concatenate(queries), device=device),
            outputs_N=torch.as_tensor(outputs_N, device=device),
            keys=OwnKeys(
                shapes=[(stack.num_blocks, stack.num_keys) for stack in stacks],
                tokens_L=torch.as_tensor(np.concatenate(keys), device=device),
            ),
        )

    @classmethod
    def continuing(
        cls, cache: SlotCache, slots: Sequence[int], starts: Sequence[int], lengths: Sequence[int], device: torch.device
    ) -> Ragged:
        """Build the pattern of new tokens that begin at `starts` in their slots, one block per slot."""
        build = cls.by_slot if device.type == "cpu" else cls.padded  # a GPU prefers one large call to many small ones
        return build(cache, slots, starts, lengths, device)

    @classmethod
    def padded(
        cls, cache: SlotCache, slots: Sequence[int], starts: Sequence[int], lengths: Sequence[int], device: torch.device
    ) -> Ragged:
        """Build the pattern of `continuing` with all blocks in one call, padded to the longest.

        If at least half of the slots have new tokens, the others get an idle block: a view of the whole cache is
        cheaper than a copy of a part.
        """
        is_viewed = len(slots) >= _VIEWED * cache.num_slots
        blocks_S = torch.tensor(slots if is_viewed else range(len(slots)), device=device)
        given_S3 = torch.as_tensor(np.array([starts, lengths, np.cumsum([0, *lengths[:-1]])]).T, device=device)
        given_B3 = given_S3.new_zeros(cache.num_slots if is_viewed else len(slots), 3).index_copy(0, blocks_S, given_S3)
        starts_B, lengths_B, first_B = given_B3.unbind(1)
        longest, length = max(lengths), max(s + n for s, n in zip(starts, lengths, strict=True))
        cache.reserve(length)
        columns_Q = torch.arange(longest, device=device)
        rows_N = torch.repeat_interleave(blocks_S, given_S3[:, 1])
        columns_N = torch.arange(len(rows_N), device=device) - first_B[rows_N]
        positions_N = starts_B[rows_N] + columns_N
        mask_BQT = torch.arange(length, device=device) <= (starts_B[:, None] + columns_Q)[:, :, None]
        slots_B = None if is_viewed else torch.tensor(slots, device=device)
        return cls(
            positions_N=positions_N,
            stacks=[Stack(len(given_B3), longest, length, mask_BQT[:, None])],
            queries_M=(first_B[:, None] + torch.minimum(columns_Q, lengths_B[:, None] - 1)).flatten().clamp(0),
            outputs_N=rows_N * longest + columns_N,
            keys=CachedKeys(cache, rows_N if slots_B is None else slots_B[rows_N], positions_N, slots_B, length),
        )

    @classmethod
    def by_slot(
        cls, cache: SlotCache, slots: Sequence[int], starts: Sequence[int], lengths: Sequence[int], device: torch.device
    ) -> Ragged:
        """Build the pattern of `continuing` with a call for each slot, on a view of its keys and values."""
        stops = [start + length for start, length in zip(starts, lengths, strict=True)]
        cache.reserve(max(stops))
        spans = list(zip(starts, stops, strict=True))
        positions_N = torch.cat([torch.arange(start, stop, device=device) for start, stop in spans])
        slots_N = torch.repeat_interleave(torch.tensor(slots, device=device), torch.tensor(lengths, device=device))
        tokens_N = torch.arange(len(positions_N), device=device)
        return cls(
            positions_N=positions_N,
            stacks=[_span(start, stop, device) for start, stop in spans],
            queries_M=tokens_N,
            outputs_N=tokens_N,
            keys=SlotViews(cache, slots_N, positions_N, slots, stops),
        )

    @property
    def padding(self) -> int:
        """Number of padding queries."""
        return len(self.queries_M) - len(self.positions_N)


def _span(start: int, stop: int, device: torch.device) -> Stack:
    """Return the block of tokens `start` to `stop` of a slot, which attend to the slot's tokens up to themselves."""
    num_queries = stop - start
    mask = None
    if start and num_queries > 1:
        mask = torch.ones(1, 1, num_queries, stop, dtype=torch.bool, device=device).tril(start)
    return Stack(1, num_queries, stop, mask, is_causal=not start)


def _padded(blocks: Sequence[Block], padding: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the token of each query [B, Q] and each key [B, K].

    Queries are padded with the block's last token, keys with `padding`.
    """
    num_queries, num_keys = max(b.num_queries for b in blocks), max(b.num_keys for b in blocks)
    queries_BQ = np.array([np.minimum(np.arange(b.start, b.start + num_queries), b.stop - 1) for b in blocks])
    keys_BK = np.full((len(blocks), num_keys), padding)
    for row_K, block in zip(keys_BK, blocks, strict=True):
        row_K[: block.num_keys] = block.keys
    return queries_BQ, keys_BK


def _is_ancestor(keys_BK: Tensor, queries_BQ: Tensor, ends_N: Tensor) -> Tensor:
    """Return [B, 1, Q, K]: whether the key is the query or its ancestor; False for padding."""
    is_before = keys_BK[:, None, :] <= queries_BQ[:, :, None]
    return (is_before & (queries_BQ[:, :, None] < ends_N[keys_BK][:, None, :]))[:, None]


def _gathered(x_NHD: Tensor, tokens: Tensor, shapes: Sequence[tuple[int, int]]) -> list[Tensor]:
    """Return the rows of `tokens`, cut into one [B, H, Q, D] for each shape (B, Q)."""
    rows = x_NHD.flatten(1).index_select(0, tokens)
    parts = torch.split(rows, [blocks * size for blocks, size in shapes])
    return [part.view(*shape, *x_NHD.shape[1:]).transpose(1, 2) for part, shape in zip(parts, shapes, strict=True)]


def _attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    ragged: Ragged,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,  # Any: settings of other back ends
) -> tuple[Tensor, None]:
    """Attention back end for transformers; query, key, value [1, H, N, D], result [1, N, H, D]."""
    query_NHD, key_NHD, value_NHD = (x[0].transpose(0, 1) for x in (query, key, value))
    layer = int(module.layer_idx)  # type: ignore[arg-type]  # transformers numbers its attention modules
    looked_at = ragged.keys.look(layer, key_NHD, value_NHD)
    queries = _gathered(query_NHD, ragged.queries_M, [(s.num_blocks, s.num_queries) for s in ragged.stacks])
    outs = []
    for stack, query_BHQD, (keys, values) in zip(ragged.stacks, queries, looked_at, strict=True):
        out_BHQD = _attention(query_BHQD, keys, values, stack, dropout, scaling)
        outs.append(out_BHQD.transpose(1, 2).flatten(0, 1).flatten(1))
    return torch.cat(outs).index_select(0, ragged.outputs_N).view(query_NHD.shape)[None], None


def _attention(
    query_BHQD: Tensor, keys: Tensor, values: Tensor, stack: Stack, dropout: float, scaling: float | None
) -> Tensor:
    """Return attention [B, H, Q, D] over keys and values [B, G, K, D].

    Each of the G heads serves H / G query heads. On a GPU with a mask, queries that share a key head are concatenated:
    the memory-efficient kernel does not support shared heads, and torch's fallback stores all scores. cuDNN is excluded
    there because it makes a plan for every shape, and each sampling step has a different one (docs/log.md).
    """
    if stack.mask is not None and query_BHQD.is_cuda:
        with sdpa_kernel(_GPU_KERNELS):
            return grouped_attention(query_BHQD, keys, values, stack.mask, dropout, scaling)
    is_shared = query_BHQD.shape[1] != keys.shape[1]
    return F.scaled_dot_product_attention(
        query_BHQD, keys, values, stack.mask, dropout, stack.is_causal, scale=scaling, enable_gqa=is_shared
    )


def grouped_attention(
    query_BHQD: Tensor, keys: Tensor, values: Tensor, mask: Tensor, dropout: float = 0.0, scaling: float | None = None
) -> Tensor:
    """Return masked attention [B, H, Q, D] over shared heads [B, G, K, D], without copying them."""
    shape, num_groups = query_BHQD.shape, keys.shape[1]
    num_sharing = shape[1] // num_groups
    together = query_BHQD.reshape(shape[0], num_groups, num_sharing * shape[2], shape[3])
    mask = mask.repeat(1, 1, num_sharing, 1)
    return F.scaled_dot_product_attention(together, keys, values, mask, dropout, scale=scaling).reshape(shape)


AttentionInterface.register(NAME, _attend)


def hidden_states(model: Any, ids_N: Tensor, ragged: Ragged) -> Tensor:  # Any: a transformers causal model
    """Return the last hidden states [N, width] of flat tokens."""
    decoder = model.get_decoder()
    out = decoder(input_ids=ids_N[None], position_ids=ragged.positions_N[None], use_cache=False, ragged=ragged)
    states: Tensor = out.last_hidden_state[0]
    return states


def logits(model: Any, states_ND: Tensor) -> Tensor:  # Any: a transformers causal model
    """Return float32 logits [N, V] of hidden states."""
    out: Tensor = model.get_output_embeddings()(states_ND)
    return out.float()


def logits_after(model: Any, ids_N: Tensor, ragged: Ragged, tokens_P: Tensor) -> Tensor:  # Any: as above
    """Return float32 logits [P, V] of the tokens after `tokens_P`.

    Unlike the two functions above, this calls the model itself, so that hooks, such as those of sharding, see the whole
    pass.
    """
    positions = ragged.positions_N[None]
    out = model(
        input_ids=ids_N[None], position_ids=positions, use_cache=False, logits_to_keep=tokens_P, ragged=ragged
    ).logits[0]
    found: Tensor = out.float()
    return found
