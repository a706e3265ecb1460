"""Several ranks: real processes over gloo, whose steps are those of one rank."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM

from cairn.agents.models.lora import LoraConfig, add_lora
from cairn.agents.models.policy import Policy, load_pretrained
from cairn.core.errors import CairnError
from cairn.trainer.learner.batch import micro_batches, rank_micro_batches
from cairn.trainer.learner.distributed import SINGLE, ProcessGroup, full_weights, gather, run_ranks, shard
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.learner.prefix_tree import in_order
from cairn.trainer.learner.samples import Sample
from cairn.trainer.run.checkpoint import latest, restore_learner, save
from tests.agents.tiny import policy, shared
from tests.trainer.learner.test_learner import computed, mixed, sample, turns

pytestmark = [
    pytest.mark.timeout(600),  # two processes that load torch, and pass tensors back and forth
    pytest.mark.xdist_group("memory"),  # they learn once for all tests
]

UPDATES = 5
LIMIT_S = 400.0  # a busy machine takes its time
Outcome = tuple[list[dict[str, float]], dict[str, np.ndarray], dict[str, np.ndarray]]


def samples() -> list[Sample]:
    """Return sequences of unlike length, some of which share prefixes, near the policy that sampled them."""
    made = [*mixed(), *turns(5, is_constrained=True), sample(9, 60, is_constrained=True)]
    old = [computed(shared(), [one])[0].double().numpy() for one in made]
    return [
        Sample(**{**{f: getattr(one, f) for f in one.__slots__}, "old_logprobs": was})
        for one, was in zip(made, old, strict=True)
    ]


def updated(ranks: ProcessGroup, name: str, given: list[Sample], **more: Any) -> Outcome:
    """Return each update's metrics, and the weights and the optimiser's state after them."""
    of = policy()
    if "lora" in name:
        add_lora(of.model, LoraConfig(rank=4), 0)
    shard(of, ranks)
    learner = Learner(of, LearnerConfig.model_validate({**SETTINGS[name], **more}), UPDATES, ranks=ranks)
    metrics = [learner.update(given, update) for update in range(UPDATES)]
    return metrics, *state(of, learner)


def in_two_parts(ranks: ProcessGroup, name: str, given: list[Sample], folder: Path) -> Outcome:
    """Return the same, with a checkpoint in between from which other learners resume."""
    parts = []
    settings = LearnerConfig.model_validate(SETTINGS[name])
    for first, end in ((0, 2), (2, UPDATES)):
        of = load_pretrained(str(folder / "checkpoints" / "update-000002")) if first else policy()
        shard(of, ranks)
        learner = Learner(of, settings, UPDATES, ranks=ranks)
        if first:
            (found, _) = latest(folder / "checkpoints")
            assert found is not None
            restore_learner(found, learner)
        parts += [learner.update(given, update) for update in range(first, end)]
        save(folder / "checkpoints", end, of, learner, {}, None, 5)
        ranks.sum([0.0])  # until the first rank has written
    return parts, *state(of, learner)


def all_updated(ranks: ProcessGroup, names: Collection[str], given: list[Sample], folder: Path) -> dict[str, Outcome]:
    found = {name: updated(ranks, name, given) for name in names}
    return {**found, "in two parts": in_two_parts(ranks, "ema", given, folder)} if "ema" in names else found


def state(of: Policy, learner: Learner) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the weights, on every rank, and the optimiser's state, which only the first rank has in full."""
    whole = {name: gather(weight.detach()) for name, weight in of.model.state_dict(keep_vars=True).items()}
    stored, moments = full_weights(of.model), learner.optimizer.tensors()
    if learner.ranks.rank:
        sharded = {name for name, weight in of.model.named_parameters() if isinstance(weight, DTensor)}
        assert all(stored[name].numel() == 0 for name in sharded)
        return as_arrays(whole), {}
    assert all(torch.equal(stored[name], weight) for name, weight in whole.items())
    return as_arrays(whole), as_arrays(moments)


def as_arrays(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "many micro-batches": {"micro_batch_tokens": 50},
    "minibatches": {"minibatches": 3, "average": "sequence", "entropy_weight": 0.01},
    "checkpointing": {"checkpointing": True},
    "initial": {"reference": {"kind": "initial", "weight": 0.5}, "micro_batch_tokens": 60},
    "ema": {"reference": {"kind": "ema", "weight": 0.5, "decay": 0.5}, "micro_batch_tokens": 50},
    "importance": {"importance_cap": 2.0, "epochs": 2},
    "lora": {"optimizer": {"lr": 1e-2}},
    "lora, checkpointing": {"optimizer": {"lr": 1e-2}, "checkpointing": True},
    "muon": {"optimizer": {"kind": "muon"}},
}
DEFAULT = ("plain", "importance")  # of the default run: they use one micro-batch and several, once and twice
NAMES = [pytest.param(name, marks=() if name in DEFAULT else pytest.mark.slow) for name in SETTINGS if name != "muon"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def by_two(folder: Path, request: pytest.FixtureRequest) -> list[dict[str, Outcome]]:
    """Return the outcomes of both ranks under the settings that the tests of this run ask for."""
    is_default = all(item.get_closest_marker("slow") is None for item in request.session.items)
    names = DEFAULT if is_default else tuple(SETTINGS)
    return run_ranks(2, all_updated, names, samples(), folder, timeout_s=LIMIT_S)


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_make_the_updates_of_one(name: str, by_two: list[dict[str, Outcome]]) -> None:
    metrics, weights, state = updated(SINGLE, name, samples())
    assert by_two[0][name][0] == by_two[1][name][0]  # metrics are equal on all ranks
    for metrics_of_rank, weights_of_rank, state_of_rank in (both[name] for both in by_two):
        for ours, expected in zip(metrics_of_rank, metrics, strict=True):
            assert_metrics(ours, expected)
        assert_close(weights_of_rank, weights, 1e-5)
        if state_of_rank:
            assert_close(state_of_rank, state, 1e-5)


def assert_metrics(ours: dict[str, float], expected: dict[str, float]) -> None:
    assert ours.keys() == expected.keys()
    for name, value in expected.items():
        if name in ("computed_tokens", "tokens_unshared", "padding"):  # ranks that fill up compute more
            assert ours[name] >= 0.5 * value
        else:
            assert ours[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name


def assert_close(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], bound: float) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        np.testing.assert_allclose(found[name], tensor, rtol=0, atol=bound, err_msg=name)


@pytest.mark.slow
def test_muon_orthogonalises_whole_matrices_on_two_ranks_too(by_two: list[dict[str, Outcome]]) -> None:
    """It computes in bfloat16, so rounding shows: as much as another cut into micro-batches does on one rank."""
    _, weights, _ = updated(SINGLE, "muon", samples())
    _, cut, _ = updated(SINGLE, "muon", samples(), micro_batch_tokens=30)
    rounding = max(float(np.abs(cut[name] - weights[name]).max()) for name in weights)
    moved = {name: weights[name] - begun for name, begun in as_arrays(policy().model.state_dict()).items()}
    assert 0 < rounding < 0.1 * max(float(np.abs(change).max()) for change in moved.values())
    for both in by_two:
        assert_close(both["muon"][1], weights, 2 * rounding)


@pytest.mark.slow
def test_gathered_state_resumes_without_a_difference(by_two: list[dict[str, Outcome]], folder: Path) -> None:
    for both in by_two:
        assert both["in two parts"][0] == both["ema"][0]
        for found, expected in zip(both["in two parts"][1:], both["ema"][1:], strict=True):
            assert_close(found, expected, 0.0)
    loaded = AutoModelForCausalLM.from_pretrained(folder / "checkpoints" / f"update-{UPDATES:06d}")
    assert_close(as_arrays(loaded.state_dict()), by_two[0]["ema"][1], 0.0)


def test_samples_are_dealt_in_stretches_of_like_size() -> None:
    given = samples()
    dealt_to = [rank_micro_batches(given, 40, rank, 3) for rank in range(3)]
    assert len({len(chunks) for chunks in dealt_to}) == 1
    flat = [[i for chunk in chunks for i in chunk] for chunks in dealt_to]
    assert [i for own in flat for i in own] == in_order([s.context for s in given])
    sizes = [sum(len(given[i].context) for i in own) for own in flat]
    assert max(sizes) < 0.6 * sum(sizes)
    assert rank_micro_batches(given, 40, 0, 1) == list(micro_batches(given, 40))


def fails(ranks: ProcessGroup) -> None:
    if ranks.rank == 1:
        raise ValueError("the second rank has had enough")
    ranks.sum([1.0])  # waits for the other


def sleeps(ranks: ProcessGroup) -> None:
    time.sleep(60)


def vanishes(ranks: ProcessGroup) -> None:
    os._exit(3 * ranks.rank)


@pytest.mark.rotating(5)
@pytest.mark.parametrize(
    ("function", "limit_s", "message"),
    [
        (fails, LIMIT_S, "Rank 1 failed: .*ValueError: the second rank has had enough"),
        pytest.param(sleeps, 5.0, r"2 ranks took longer than 5 s; 0 of them were done", marks=pytest.mark.slow),
        pytest.param(vanishes, LIMIT_S, "A rank ended: .*exit code 3", marks=pytest.mark.slow),
    ],
)
def test_a_rank_that_fails_or_hangs_ends_them_all(function: Any, limit_s: float, message: str) -> None:
    began = time.monotonic()
    with pytest.raises(CairnError, match=f"(?s){message}"):
        run_ranks(2, function, timeout_s=limit_s)
    assert time.monotonic() - began < LIMIT_S / 2
    assert not multiprocessing.active_children()
