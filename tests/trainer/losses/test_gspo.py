"""GSPO: numbers by hand, equality with the sequence-level form, and its clip of whole sequences."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import torch
from torch import Tensor

from cairn.trainer.losses.clip import LOSS as CLIP
from cairn.trainer.losses.clip import ClipConfig
from cairn.trainer.losses.gspo import LOSS, GSPOConfig
from tests.trainer.losses.inputs import loss_inputs

SEQUENCES = [0, 0, 0, 1, 2, 2]
# Ratios of the tokens; geometric means: (1.2 * 1.5 * 0.6)^(1/3) = 1.08^(1/3) = 1.0259856, 0.9, (2 * 0.5)^(1/2) = 1.
RATIOS = [1.2, 1.5, 0.6, 0.9, 2.0, 0.5]
MEAN = 1.08 ** (1 / 3)


def inputs_of(advantages: list[float], ratios: list[float] = RATIOS) -> tuple[Tensor, Tensor, Tensor]:
    old = torch.linspace(-2.0, -1.0, len(ratios), dtype=torch.float64)
    new = (old + torch.tensor([log(ratio) for ratio in ratios], dtype=torch.float64)).requires_grad_()
    return new, old, torch.tensor(advantages, dtype=torch.float64)


def test_a_token_has_the_ratio_of_its_sequence() -> None:
    new, old, advantages = inputs_of([1, 1, 1, -2, 1, -1])
    loss, is_clipped = LOSS.make(GSPOConfig(low=0.2, high=0.2))(loss_inputs(new, old, advantages, SEQUENCES))
    assert loss.tolist() == pytest.approx([-MEAN, -MEAN, -MEAN, 1.8, -1.0, 1.0], abs=1e-12)
    assert not is_clipped.any()
    (gradient,) = torch.autograd.grad(loss.sum(), new)
    assert gradient.tolist() == pytest.approx([-MEAN, -MEAN, -MEAN, 1.8, -1.0, 1.0], abs=1e-12)


def test_a_sequence_beyond_the_bounds_is_clipped_as_a_whole() -> None:
    new, old, advantages = inputs_of([1, 1, -1, -1, 1, -1])
    loss, is_clipped = LOSS.make(GSPOConfig(low=0.05, high=0.01))(loss_inputs(new, old, advantages, SEQUENCES))
    # Sequence 0 is above 1.01: clipped where A > 0. Sequence 1 is below 0.95: clipped, since A < 0. Sequence 2: within.
    assert loss.tolist() == pytest.approx([-1.01, -1.01, MEAN, 0.95, -1.0, 1.0], abs=1e-12)
    assert is_clipped.tolist() == [True, True, False, True, False, False]
    (gradient,) = torch.autograd.grad(loss.sum(), new)
    assert gradient.tolist() == pytest.approx([0.0, 0.0, MEAN, 0.0, -1.0, 1.0], abs=1e-12)


def test_with_one_advantage_a_sequence_it_is_the_papers_sequence_level_form() -> None:
    new, old, advantages = inputs_of([0.5, 0.5, 0.5, -2, 1, 1])
    weights = torch.tensor([1 / (3 * SEQUENCES.count(s)) for s in SEQUENCES], dtype=torch.float64)
    loss, _ = LOSS.make(GSPOConfig(low=0.04, high=0.02))(loss_inputs(new, old, advantages, SEQUENCES))
    (found,) = torch.autograd.grad((weights * loss).sum(), new)

    terms = []
    for sequence, advantage in enumerate((0.5, -2.0, 1.0)):
        rows = [row for row, each in enumerate(SEQUENCES) if each == sequence]
        ratio = (new[rows] - old[rows]).mean().exp()
        terms.append(-torch.minimum(advantage * ratio, advantage * ratio.clamp(0.96, 1.02)))
    whole = torch.stack(terms).mean()
    assert (weights * loss).sum().item() == pytest.approx(whole.item(), abs=1e-12)
    (expected,) = torch.autograd.grad(whole, new)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_sequences_of_one_token_give_the_clipped_loss() -> None:
    new, old, advantages = inputs_of([1, -1, 2, -2, 0, 1])
    ours = LOSS.make(GSPOConfig(low=0.2, high=0.3))(loss_inputs(new, old, advantages))
    clip = CLIP.make(ClipConfig(low=0.2, high=0.3))(loss_inputs(new, old, advantages))
    np.testing.assert_allclose(ours.loss_D.detach(), clip.loss_D.detach(), atol=1e-12)
    assert ours.is_clipped_D.tolist() == clip.is_clipped_D.tolist()


def test_a_ratio_beyond_all_bounds_stays_finite() -> None:
    new = torch.zeros(2, requires_grad=True)
    loss, _ = LOSS.make(GSPOConfig())(loss_inputs(new, torch.tensor([-500.0, -500.0]), -torch.ones(2), [0, 0]))
    assert loss.tolist() == pytest.approx([exp(20)] * 2, rel=1e-6)


def test_no_tokens_give_no_loss() -> None:
    none = torch.zeros(0)
    assert LOSS.make(GSPOConfig())(loss_inputs(none, none, none)).loss_D.shape == (0,)
