"""The clipped loss: values and gradients from the published table, and finite differences of both."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
import torch

from cairn.core.config import build
from cairn.core.errors import ConfigError
from cairn.trainer.losses.clip import LOSS, ClipConfig
from tests.trainer.losses.inputs import loss_inputs

DEFAULT = LOSS.make(ClipConfig())


def value_and_gradient(advantage: float, ratio: float, **settings: Any) -> tuple[float, float, bool]:
    """Return loss, its derivative by the new logprob, and whether it counts as clipped."""
    old = torch.tensor([-1.25], dtype=torch.float64)
    new = (old + log(ratio)).requires_grad_()
    inputs = loss_inputs(new, old, torch.tensor([advantage], dtype=torch.float64))
    loss, is_clipped = LOSS.make(ClipConfig(**settings))(inputs)
    (gradient,) = torch.autograd.grad(loss.sum(), new)
    return loss.item(), gradient.item(), bool(is_clipped)


# A, rho: loss with bounds .2/.2 and dual 3, with .2/.28 and dual 3, with .2/.2 and without dual. The derivative of
# -A rho by the logprob is -A rho, that of a bound is 0: so it equals the loss where nothing was clipped.
TABLE = [
    (1, 0.5, -0.5, -0.5, -0.5),
    (1, 1.25, -1.2, -1.25, -1.2),
    (1, 1.5, -1.2, -1.28, -1.2),
    (-1, 0.5, 0.8, 0.8, 0.8),
    (-1, 1.5, 1.5, 1.5, 1.5),
    (-1, 4.0, 3.0, 3.0, 4.0),
]
CLIPPED = [(False, False, False), (True, False, True), (True, True, True), (True, True, True)]
CLIPPED += [(False, False, False), (True, True, False)]
SETTINGS: list[dict[str, Any]] = [{"dual": 3.0}, {"dual": 3.0, "high": 0.28}, {}]


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("row", range(len(TABLE)))
def test_the_published_table(row: int, column: int) -> None:
    advantage, ratio, *losses = TABLE[row]
    loss, gradient, is_clipped = value_and_gradient(advantage, ratio, **SETTINGS[column])
    assert loss == pytest.approx(losses[column], abs=1e-12)
    assert gradient == pytest.approx(0.0 if CLIPPED[row][column] else losses[column], abs=1e-12)
    assert is_clipped == CLIPPED[row][column]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("advantage", [2.0, -0.5])
@pytest.mark.parametrize("ratio", [0.3, 0.79, 0.81, 1.0, 1.19, 1.21, 1.29, 2.9, 3.1])
def test_the_gradient_is_that_of_finite_differences(ratio: float, advantage: float, settings: dict[str, Any]) -> None:
    _, gradient, _ = value_and_gradient(advantage, ratio, **settings)
    step = 1e-6
    above, _, _ = value_and_gradient(advantage, ratio * (1 + step), **settings)
    below, _, _ = value_and_gradient(advantage, ratio * (1 - step), **settings)
    slope = (above - below) / (log(1 + step) - log(1 - step))
    assert gradient == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("advantage", [1.5, -1.5, 0.0])
def test_the_first_step_after_sampling_has_the_gradient_of_reinforce(advantage: float) -> None:
    loss, gradient, is_clipped = value_and_gradient(advantage, 1.0, dual=3.0)
    assert (loss, gradient, is_clipped) == (-advantage, -advantage, False)


def test_other_tokens_change_nothing() -> None:
    old = torch.tensor([-1.0, -2.0, -0.5])
    new = torch.tensor([-0.5, -2.5, -0.4])
    advantages = torch.tensor([1.0, -1.0, 2.0])
    together, _ = DEFAULT(loss_inputs(new, old, advantages))
    alone = [DEFAULT(loss_inputs(new[i : i + 1], old[i : i + 1], advantages[i : i + 1])).loss_D for i in range(3)]
    assert together.tolist() == torch.cat(alone).tolist()


def test_a_ratio_beyond_all_bounds_stays_finite() -> None:
    new = torch.tensor([0.0], requires_grad=True)
    loss, _ = DEFAULT(loss_inputs(new, torch.tensor([-500.0]), torch.tensor([-1.0])))
    assert loss.item() == pytest.approx(torch.exp(torch.tensor(20.0)).item())
    assert float(torch.autograd.grad(loss.sum(), new)[0]) == 0.0


@pytest.mark.parametrize("settings", [{"low": 0.0}, {"low": 1.0}, {"high": 0.0}, {"dual": 1.0}, {"dual": 1.2}])
def test_bounds_that_make_no_sense_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        build(ClipConfig, settings, "loss.clip")
