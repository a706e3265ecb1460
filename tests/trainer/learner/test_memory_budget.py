"""A GPU that runs out of memory, played by a policy whose forward pass raises above a number of tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError
from cairn.trainer.learner.learner import Learner, LearnerConfig
from tests.agents.tiny import policy
from tests.trainer.learner.test_learner import mixed, turns

UPDATES = 3


def limited(most_tokens: int, sizes: list[int] | None = None) -> Policy:
    """Return a policy that raises as torch does above `most_tokens` tokens on a GPU; `sizes` receives each size."""
    of = policy()

    def check(module: Any, args: Any, kwargs: dict[str, Any]) -> None:  # Any: as torch calls hooks
        if sizes is not None:
            sizes.append(kwargs["input_ids"].numel())
        if kwargs["input_ids"].numel() > most_tokens:
            raise torch.OutOfMemoryError(f"CUDA out of memory: {kwargs['input_ids'].numel()} tokens\nand more")

    of.model.get_decoder().register_forward_pre_hook(check, with_kwargs=True)
    return of


def updated(of: Policy, **settings: Any) -> tuple[list[dict[str, float]], torch.Tensor, list[str], Learner]:
    notes: list[str] = []
    given = [*mixed(), *turns(5, is_constrained=True)]
    learner = Learner(of, LearnerConfig.model_validate(settings), 10, on_note=notes.append)
    metrics = [learner.update(given, update) for update in range(UPDATES)]
    weights = torch.cat([p.detach().flatten() for p in of.model.parameters()])
    return metrics, weights, notes, learner


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"importance_cap": 2.0},
        {"reference": {"kind": "initial", "weight": 0.5}},
        {"reference": {"kind": "ema", "decay": 0.5, "weight": 0.5}, "optimizer": {"kind": "adamw", "lr": 1e-3}},
    ],
)
def test_a_step_without_room_is_made_again_with_half_the_tokens(settings: dict[str, Any]) -> None:
    """A first micro-batch fits, a later one does not: the gradients of the first must not count twice."""
    sizes: list[int] = []
    metrics, weights, notes, learner = updated(limited(52, sizes), micro_batch_tokens=55, **settings)
    first = next(i for i, size in enumerate(sizes) if size > 52)
    assert 0 < first < len(sizes) - 1
    assert max(sizes[first + 1 :]) <= 52
    undisturbed, expected, none, _ = updated(policy(), micro_batch_tokens=55, **settings)
    assert learner.budget.tokens == 27
    assert len(notes) == 1
    assert "at most 27 tokens from now on" in notes[0]
    assert none == []
    assert [m.pop("memory_halvings") for m in metrics] == [1.0] * UPDATES
    assert [m.pop("memory_halvings") for m in undisturbed] == [0.0] * UPDATES
    for found, wanted in zip(metrics, undisturbed, strict=True):
        assert found.pop("computed_tokens") > wanted.pop("computed_tokens")
        assert {found.pop("padding"), wanted.pop("padding")} <= {0.0}
        assert found == pytest.approx(wanted, rel=1e-3, abs=1e-5)
    torch.testing.assert_close(weights, expected, rtol=0, atol=1e-4)


def test_the_error_of_a_step_that_fails_with_half_the_tokens_names_the_settings() -> None:
    with pytest.raises(
        CairnError,
        match=r"at most 27 tokens: lower learner\.micro_batch_tokens, set "
        r"learner\.checkpointing, or train adapters with model\.lora \(CUDA out of memory: \d+ tokens\)",
    ):
        updated(limited(20), micro_batch_tokens=55)


def test_running_out_of_memory_a_second_time_is_an_error() -> None:
    of = limited(52)
    _, _, _, learner = updated(of, micro_batch_tokens=55)
    of.model.get_decoder().register_forward_pre_hook(
        lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("again")), with_kwargs=True
    )
    with pytest.raises(CairnError, match=r"at most 27 tokens: .*\(again\)"):
        learner.update(mixed(), 0)


def test_memory_that_runs_out_in_the_optimisers_step_is_an_error() -> None:
    """Some weights may have been changed by then."""
    learner = Learner(policy(), LearnerConfig(), 10)

    def step(rate: float, max_norm: float) -> torch.Tensor:
        raise torch.OutOfMemoryError("moments")

    learner.optimizer.step = step  # type: ignore[method-assign]  # a GPU is full
    with pytest.raises(CairnError, match=r"at most 8192 tokens: .*\(moments\)"):
        learner.update(mixed(), 0)
    assert learner.budget.halvings == 0


def test_other_errors_pass() -> None:
    of = policy()
    of.model.get_decoder().register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Learner(of, LearnerConfig(), 10).update(mixed(), 0)
