"""Attention over sequences of unequal length, laid end to end: no padding outside attention itself.

Every transformers model that supports attention back ends runs on one flat row of N tokens; only this function knows
which token belongs to which sequence. With a cache it attends to what the slot has seen before (sampling); without one
each sequence attends causally to itself (training). Both give what the padded computation gives.

Not covered: sliding windows, attention sinks, logit soft caps, encoder-decoder models. `agents.models.policy` refuses
models that need them.

Letters: N tokens of the call, S sequences, Q longest new stretch, T cached positions, H heads, D head width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface

NAME = "cairn_ragged"


class SlotCache:
    """Keys and values of S slots, each with its own length; grows in T as needed."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.capacity = 0
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}  # layer -> keys, values, each [S, H, T, D]

    def reserve(self, length: int) -> None:
        """Make room for `length` positions in every slot."""
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
        """Give one slot the first `length` keys and values of another."""
        for keys, values in self._layers.values():
            for tensor in (keys, values):
                tensor[target, :, :length] = tensor[source, :, :length]

    def read(self, layer: int, slots_S: Tensor | None, length: int) -> tuple[Tensor, Tensor]:
        """Return keys and values [S, H, length, D] of the slots (None: all of them)."""
        keys, values = (tensor[:, :, :length] for tensor in self._layers[layer])
        return (keys, values) if slots_S is None else (keys[slots_S], values[slots_S])


@dataclass(frozen=True)
class Ragged:
    """Which sequence and place each of N flat tokens has."""

    rows_N: Tensor  # sequence within the call, 0..S-1
    columns_N: Tensor  # place among the sequence's new tokens, 0..Q-1
    positions_N: Tensor  # place in the whole sequence
    num_rows: int
    longest: int  # Q
    cache: SlotCache | None = None
    slots_S: Tensor | None = None  # slot of each sequence; None with a cache: sequence i is slot i
    slots_N: Tensor | None = None
    mask: Tensor | None = None  # [S, 1, Q, T], True where a query may look
    length: int = 0  # T

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> Ragged:
        """Describe whole sequences that are laid end to end."""
        lengths_S = torch.tensor(lengths, device=device)
        rows_N, columns_N = _places(lengths_S)
        return cls(
            rows_N=rows_N, columns_N=columns_N, positions_N=columns_N, num_rows=len(lengths), longest=max(lengths)
        )

    @classmethod
    def continuing(
        cls, cache: SlotCache, slots: Sequence[int], starts: Sequence[int], lengths: Sequence[int], device: torch.device
    ) -> Ragged:
        """Describe stretches of new tokens that begin at `starts` in their slots."""
        starts_S, lengths_S = torch.tensor(starts, device=device), torch.tensor(lengths, device=device)
        rows_N, columns_N = _places(lengths_S)
        longest, length = max(lengths), max(s + n for s, n in zip(starts, lengths, strict=True))
        cache.reserve(length)
        last_SQ = starts_S[:, None] + torch.arange(longest, device=device)
        mask = torch.arange(length, device=device) <= last_SQ[:, :, None]
        slots_S = torch.tensor(slots, device=device)
        is_all = len(slots) == cache.num_slots and list(slots) == list(range(cache.num_slots))
        return cls(
            rows_N=rows_N,
            columns_N=columns_N,
            positions_N=starts_S[rows_N] + columns_N,
            num_rows=len(slots),
            longest=longest,
            cache=cache,
            slots_S=None if is_all else slots_S,
            slots_N=slots_S[rows_N],
            mask=mask[:, None],
            length=length,
        )

    def pad(self, x_NHD: Tensor) -> Tensor:
        """Return [S, H, Q, D] with zeros where a sequence has no token."""
        out = x_NHD.new_zeros(self.num_rows, self.longest, *x_NHD.shape[1:])
        return out.index_put((self.rows_N, self.columns_N), x_NHD).transpose(1, 2)


def _places(lengths_S: Tensor) -> tuple[Tensor, Tensor]:
    rows_N = torch.repeat_interleave(torch.arange(len(lengths_S), device=lengths_S.device), lengths_S)
    first_S = torch.cumsum(lengths_S, 0) - lengths_S
    return rows_N, torch.arange(len(rows_N), device=lengths_S.device) - first_S[rows_N]


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
    **_: Any,  # Any: other back ends' settings
) -> tuple[Tensor, None]:
    """Attention back end: query, key, value are [1, H, N, D]; returns [1, N, H, D]."""
    keys_NHD, values_NHD = key[0].transpose(0, 1), value[0].transpose(0, 1)
    query_SHQD = ragged.pad(query[0].transpose(0, 1))
    if ragged.cache is None:
        keys, values, mask = ragged.pad(keys_NHD), ragged.pad(values_NHD), None
    else:
        layer = int(module.layer_idx)  # type: ignore[arg-type]  # transformers numbers its attention modules
        assert ragged.slots_N is not None
        ragged.cache.write(layer, ragged.slots_N, ragged.positions_N, keys_NHD, values_NHD)
        keys, values = ragged.cache.read(layer, ragged.slots_S, ragged.length)
        mask = ragged.mask
    out = F.scaled_dot_product_attention(
        query_SHQD,
        keys,
        values,
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=mask is None,
        scale=scaling,
        enable_gqa=query_SHQD.shape[1] != keys.shape[1],
    )
    return out.transpose(1, 2)[ragged.rows_N, ragged.columns_N][None], None


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
