"""Ragged attention gives what padded attention gives, for every family of models that it is used with."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

from cairn.agents.models.ragged import NAME, Ragged, SlotCache, hidden_states, logits
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
        return BUILD(FAMILIES[request.param], attn_implementation=NAME).eval()


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


@pytest.mark.parametrize("stretch", [1, 3, 64])
def test_stretches_over_a_cache(model: Any, stretch: int) -> None:
    """Four slots of six, in an order of their own, fed piece by piece; pieces of unequal length share a pass."""
    slots, cache, whole = [4, 0, 5, 2], SlotCache(6), rows()
    done, found = [0] * len(whole), [torch.empty(0, 97)] * len(whole)
    while any(done[i] < len(row) for i, row in enumerate(whole)):
        busy = [i for i, row in enumerate(whole) if done[i] < len(row)]
        pieces = [whole[i][done[i] : done[i] + stretch + i] for i in busy]
        where, starts = [slots[i] for i in busy], [done[i] for i in busy]
        ragged = Ragged.continuing(cache, where, starts, [len(p) for p in pieces], CPU)
        for i, piece, out in zip(busy, pieces, ragged_logits(model, pieces, ragged), strict=True):
            done[i] += len(piece)
            found[i] = torch.cat([found[i], out])
    assert_close(found, reference_logits(model, whole))


def test_a_cache_whose_every_slot_is_asked(model: Any) -> None:
    cache, whole = SlotCache(len(LENGTHS)), rows()
    first, rest = [row[:1] for row in whole], [row[1:] or [9] for row in whole]
    slots = list(range(len(whole)))
    ragged_logits(model, first, Ragged.continuing(cache, slots, [0] * 4, [1] * 4, CPU))
    found = ragged_logits(model, rest, Ragged.continuing(cache, slots, [1] * 4, [len(r) for r in rest], CPU))
    expected = reference_logits(model, [[*a, *b] for a, b in zip(first, rest, strict=True)])
    assert_close(found, [row[1:] for row in expected])


def test_a_sequence_that_is_written_again_from_the_middle(model: Any) -> None:
    cache, row = SlotCache(1), rows()[1]
    ragged_logits(model, [[*row[:8], 50, 51, 52]], Ragged.continuing(cache, [0], [0], [11], CPU))
    (found,) = ragged_logits(model, [row[8:]], Ragged.continuing(cache, [0], [8], [len(row) - 8], CPU))
    assert_close([found], [reference_logits(model, [row])[0][8:]])


def test_a_cache_that_grows_keeps_what_it_holds(model: Any) -> None:
    """Its room is 256 positions at first."""
    generator = torch.Generator().manual_seed(7)
    row = torch.randint(2, 97, (300,), generator=generator).tolist()
    cache = SlotCache(1)
    ragged_logits(model, [row[:250]], Ragged.continuing(cache, [0], [0], [250], CPU))
    assert cache.capacity == 256
    (found,) = ragged_logits(model, [row[250:]], Ragged.continuing(cache, [0], [250], [50], CPU))
    assert cache.capacity > 256
    assert_close([found], [reference_logits(model, [row])[0][250:]])


def test_gradients_are_those_of_the_padded_computation() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = BUILD(FAMILIES["qwen3"], attn_implementation=NAME)
    plain = BUILD(FAMILIES["qwen3"], attn_implementation="sdpa")
    plain.load_state_dict(model.state_dict())
    flat = torch.tensor([i for row in rows() for i in row])
    torch.autograd.backward(logits(model, hidden_states(model, flat, Ragged.of(LENGTHS, CPU))).square().mean())
    outputs = [plain(input_ids=torch.tensor([row])).logits[0] for row in rows()]
    torch.autograd.backward(torch.cat(outputs).square().mean())
    for one, two in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-3, atol=1e-4 * float(two.grad.abs().max()))
