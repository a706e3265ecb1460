"""Packed attention equals padded attention for every supported family of models."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

from cairn.agents.models.packed_attention import NAME, Ragged, SlotCache, grouped_attention, hidden_states, logits
from cairn.trainer.learner.prefix_tree import make_tree
from tests.agents.tiny import reference_logits

CPU = torch.device("cpu")
BUILD: Any = AutoModelForCausalLM.from_config  # Any: transformers has no types
SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,  # grouped queries
    "max_position_embeddings": 128,
    "tie_word_embeddings": False,
    "initializer_range": 0.3,  # far from uniform
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": None,
}
FAMILIES: dict[str, Any] = {
    "qwen3": Qwen3Config(**SIZES, head_dim=16),
    "qwen3-full-heads": Qwen3Config(**{**SIZES, "num_key_value_heads": 4}, head_dim=16),
    "llama": LlamaConfig(**SIZES),
    "qwen2": Qwen2Config(**SIZES),
}
LENGTHS = (1, 19, 7, 2)


@pytest.fixture(params=FAMILIES, scope="module")
def model(request: pytest.FixtureRequest) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return BUILD(copy.deepcopy(FAMILIES[request.param]), attn_implementation=NAME).eval()


def rows() -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(2, 97, (length,), generator=generator).tolist() for length in LENGTHS]


@torch.no_grad()
def ragged_logits(model: Any, ids: list[list[int]], ragged: Ragged) -> list[torch.Tensor]:
    flat = torch.tensor([i for row in ids for i in row])
    return list(torch.split(logits(model, hidden_states(model, flat, ragged)), [len(row) for row in ids]))


def assert_close(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for one, two in zip(found, expected, strict=True):
        assert float(two.std()) > 0.5
        torch.testing.assert_close(one.double(), two, rtol=0, atol=2e-4)


def test_whole_sequences_end_to_end(model: Any) -> None:
    found = ragged_logits(model, rows(), Ragged.of(LENGTHS, CPU))
    assert_close(found, reference_logits(model, rows()))


BOTH_WAYS = pytest.mark.parametrize("continuing", [Ragged.by_slot, Ragged.padded], ids=["by slot", "padded"])


@BOTH_WAYS
@pytest.mark.parametrize("stretch", [1, 3, 64])
def test_stretches_over_a_cache(model: Any, stretch: int, continuing: Any) -> None:
    """Four slots of six, in an order of their own, fed piece by piece; pieces of unequal length share a pass."""
    slots, cache, whole = [4, 0, 5, 2], SlotCache(6), rows()
    done, found = [0] * len(whole), [torch.empty(0, 97)] * len(whole)
    while any(done[i] < len(row) for i, row in enumerate(whole)):
        busy = [i for i, row in enumerate(whole) if done[i] < len(row)]
        pieces = [whole[i][done[i] : done[i] + stretch + i] for i in busy]
        where, starts = [slots[i] for i in busy], [done[i] for i in busy]
        ragged = continuing(cache, where, starts, [len(p) for p in pieces], CPU)
        for i, piece, out in zip(busy, pieces, ragged_logits(model, pieces, ragged), strict=True):
            done[i] += len(piece)
            found[i] = torch.cat([found[i], out])
    assert_close(found, reference_logits(model, whole))


@BOTH_WAYS
def test_a_cache_whose_every_slot_is_asked(model: Any, continuing: Any) -> None:
    cache, whole = SlotCache(len(LENGTHS)), rows()
    first, rest = [row[:1] for row in whole], [row[1:] or [9] for row in whole]
    slots = list(range(len(whole)))
    ragged_logits(model, first, continuing(cache, slots, [0] * 4, [1] * 4, CPU))
    found = ragged_logits(model, rest, continuing(cache, slots, [1] * 4, [len(r) for r in rest], CPU))
    expected = reference_logits(model, [[*a, *b] for a, b in zip(first, rest, strict=True)])
    assert_close(found, [row[1:] for row in expected])


@BOTH_WAYS
def test_a_sequence_that_is_written_again_from_the_middle(model: Any, continuing: Any) -> None:
    cache, row = SlotCache(1), rows()[1]
    ragged_logits(model, [[*row[:8], 50, 51, 52]], continuing(cache, [0], [0], [11], CPU))
    (found,) = ragged_logits(model, [row[8:]], continuing(cache, [0], [8], [len(row) - 8], CPU))
    assert_close([found], [reference_logits(model, [row])[0][8:]])


@BOTH_WAYS
def test_a_growing_cache_keeps_its_content(model: Any, continuing: Any) -> None:
    """Its room is 256 positions at first."""
    generator = torch.Generator().manual_seed(7)
    row = torch.randint(2, 97, (300,), generator=generator).tolist()
    cache = SlotCache(1)
    ragged_logits(model, [row[:250]], continuing(cache, [0], [0], [250], CPU))
    assert cache.capacity == 256
    (found,) = ragged_logits(model, [row[250:]], continuing(cache, [0], [250], [50], CPU))
    assert cache.capacity > 256
    assert_close([found], [reference_logits(model, [row])[0][250:]])


FORESTS: dict[str, list[list[int]]] = {
    "end to end": rows(),
    "one sequence": rows()[1:2],
    "two levels": [[5, 6, 7, i, i + 1] for i in range(20, 40, 4)],
    "equal": [rows()[1]] * 3,
    "prefixes of each other": [rows()[1][:length] for length in (3, 19, 11, 1)],
    "deep": [[*rows()[1][:at], 50 + at, *rows()[2]] for at in range(0, 19, 3)],
    "long": [[*range(2, 90), *rows()[1], i, *range(90 - i, 60, -1)] for i in range(3)] + [[*range(2, 60), 4]],
    "cut": [[*([7, 8, 9] * 100)[:at], 20, 21 + at % 60, 22] for at in range(5, 300, 9)],  # into several blocks
}


def random_forest(seed: int) -> list[list[int]]:
    """Sequences that branch off from positions in other sequences."""
    rng = np.random.default_rng(seed)
    out = [rng.integers(2, 97, 30).tolist()]
    for _ in range(12):
        stem = out[rng.integers(len(out))]
        out.append([*stem[: rng.integers(len(stem) + 1)], *rng.integers(2, 5, rng.integers(1, 25)).tolist()])
    return out


def assert_same_gradients(model: Any, plain: Any, sequences: list[list[int]], tolerance: float) -> None:
    """Hold a forest's loss and gradients against those of the sequences one by one, in plain transformers."""
    tree = make_tree([np.array(ids, np.int32) for ids in sequences])
    generator = torch.Generator().manual_seed(11)
    weights = [torch.randn(len(ids), 97, generator=generator, dtype=plain.dtype) for ids in sequences]
    states = hidden_states(model, torch.as_tensor(tree.ids_N).long(), Ragged.tree(tree.positions_N, CPU))
    outputs = model.get_output_embeddings()(states)
    loss = sum((w * outputs[torch.as_tensor(n)]).square().sum() for w, n in zip(weights, tree.nodes, strict=True))
    expected = sum(
        (w * plain(input_ids=torch.tensor([ids])).logits[0]).square().sum()
        for w, ids in zip(weights, sequences, strict=True)
    )
    torch.testing.assert_close(loss, expected, rtol=tolerance, atol=0)
    for which in (loss, expected):
        torch.autograd.backward(which)
    largest = max(float(weight.grad.abs().max()) for weight in plain.parameters())
    for one, two in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=0, atol=tolerance * largest)


def norm(module: Any, x: torch.Tensor) -> torch.Tensor:  # Any: a family's root mean square norm
    scaled: torch.Tensor = module.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + module.variance_epsilon)
    return scaled


def pair(family: str, dtype: torch.dtype) -> tuple[Any, Any]:  # Any: transformers models
    """Return a model with ragged attention and one with transformers' own, with equal weights.

    Each needs its own settings, because they name a model's attention back end. Norms, which transformers computes in
    float32, are computed in the model's precision.
    """
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = BUILD(copy.deepcopy(FAMILIES[family]), attn_implementation=NAME).to(dtype)
    plain = BUILD(copy.deepcopy(FAMILIES[family]), attn_implementation="sdpa").to(dtype)
    plain.load_state_dict(model.state_dict())
    for module in (*model.modules(), *plain.modules()):
        if hasattr(module, "variance_epsilon"):
            module.forward = partial(norm, module)
    assert (model.config._attn_implementation, plain.config._attn_implementation) == (NAME, "sdpa")
    return model, plain


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("name", FORESTS)
def test_gradients_of_a_forest_are_those_of_its_sequences(name: str, dtype: torch.dtype, tolerance: float) -> None:
    assert_same_gradients(*pair("qwen3", dtype), FORESTS[name], tolerance)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_random_forests_in_every_family(family: str, seed: int) -> None:
    assert_same_gradients(*pair(family, torch.float64), random_forest(seed), 1e-10)


def test_gradients_with_checkpointing() -> None:
    model, plain = pair("qwen3", torch.float64)
    model.gradient_checkpointing_enable()
    model.train()
    assert any(getattr(module, "gradient_checkpointing", False) for module in model.modules())
    assert_same_gradients(model, plain, random_forest(0), 1e-10)


@pytest.mark.gpu
@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_on_a_gpu_gives_the_gradients_of_the_cpu(name: str) -> None:
    model, _ = pair("qwen3", torch.float32)
    tree = make_tree([np.array(ids, np.int32) for ids in FORESTS[name]])
    ids_N, gradients = torch.as_tensor(tree.ids_N).long(), []
    for device in (CPU, torch.device("cuda")):
        model.to(device).zero_grad()
        states = hidden_states(model, ids_N.to(device), Ragged.tree(tree.positions_N, device))
        torch.autograd.backward(states.tanh().sum())
        gradients.append(torch.cat([w.grad.flatten().cpu() for w in model.parameters() if w.grad is not None]))
    torch.testing.assert_close(gradients[1], gradients[0], rtol=0, atol=1e-5 * float(gradients[0].abs().max()))


def test_shared_tokens_are_multiplied_once() -> None:
    model, _ = pair("qwen3", torch.float32)
    sequences = [np.array(ids, np.int32) for ids in FORESTS["deep"]]
    tree = make_tree(sequences)

    def multiplications(ids: np.ndarray, ragged: Ragged) -> int:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            hidden_states(model, torch.as_tensor(ids).long(), ragged)
        return int(counter.get_flop_counts()["Global"][torch.ops.aten.mm])

    by_itself = multiplications(np.concatenate(sequences), Ragged.of([len(ids) for ids in sequences], CPU))
    shared = multiplications(tree.ids_N, Ragged.tree(tree.positions_N, CPU))
    num_tokens = sum(map(len, sequences))
    assert num_tokens > 1.5 * len(tree.ids_N)
    assert shared * num_tokens == by_itself * len(tree.ids_N)


@pytest.mark.parametrize("sharing", [1, 2, 6])
def test_heads_that_share_keys_are_attended_together(sharing: int) -> None:
    torch.manual_seed(0)
    query, keys, values = torch.randn(3, 2 * sharing, 5, 8), torch.randn(3, 2, 9, 8), torch.randn(3, 2, 9, 8)
    mask = torch.rand(3, 1, 5, 9) < 0.6
    mask[..., 0] = True
    expected = F.scaled_dot_product_attention(query, keys, values, mask, enable_gqa=True)
    torch.testing.assert_close(grouped_attention(query, keys, values, mask), expected)


@pytest.mark.gpu
def test_sampling_passes_on_a_gpu_give_the_states_of_the_cpu() -> None:
    expected = sampling_passes(CPU, torch.float32)  # by slot; on the GPU padded
    found = sampling_passes(torch.device("cuda"), torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4 * float(expected.abs().max()))
    rounded = [sampling_passes(device, torch.bfloat16) for device in (CPU, torch.device("cuda"))]
    on_cpu, on_gpu = (float((states - expected).abs().mean()) for states in rounded)
    assert on_gpu < 1.5 * on_cpu


@torch.no_grad()
def sampling_passes(device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Return the states of three slots that each get five tokens eight times."""
    model, _ = pair("qwen2", dtype)
    model.to(device)
    cache, found = SlotCache(3), []
    for start in range(0, 40, 5):
        ids = torch.arange(start, start + 15, device=device) % 50
        ragged = Ragged.continuing(cache, [0, 1, 2], [start] * 3, [5] * 3, device)
        found.append(hidden_states(model, ids, ragged).float().cpu())
    return torch.cat(found)
