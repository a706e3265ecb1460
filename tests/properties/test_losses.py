"""Properties of every loss, found by discovery."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.plugins import LOSSES
from cairn.trainer.losses.base import Loss, LossFunction, LossInputs, LossOutput
from tests.agents.tiny import policy
from tests.trainer.learner.test_learner import assert_same, computed, gradients, mixed
from tests.trainer.losses.inputs import loss_inputs

NAMES = LOSSES.ids()
logprobs = st.floats(-60, 0, width=32)


def loss_of(name: str, inputs: LossInputs) -> LossOutput:
    plugin: Loss[Any] = LOSSES.load(name)
    loss: LossFunction = plugin.make(plugin.config())
    return loss(inputs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("average", ["token", "turn", "sequence", "constant"])
def test_the_cut_into_micro_batches_changes_no_gradient(name: str, average: str) -> None:
    samples = [replace(s, turns=np.arange(len(s.positions), dtype=np.int32) // 2) for s in mixed()]
    whole, _ = gradients(samples, name, micro_batch_tokens=8192, average=average)
    cut, _ = gradients(samples, name, micro_batch_tokens=1, average=average)
    assert_same(cut, whole)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_after_sampling_is_that_of_reinforce(name: str) -> None:
    samples = [replace(s, old_logprobs=computed(policy(), [s])[0].double().numpy()) for s in mixed()]
    found, metrics = gradients(samples, name, average="sequence")
    expected, _ = gradients(samples, "imitate", average="sequence")  # -A lp
    assert_same(found, expected)
    assert metrics["clipped"] == 0.0


@pytest.mark.parametrize("name", NAMES)
@given(tokens=st.lists(st.tuples(logprobs, logprobs, st.floats(-3, 3, width=32), st.integers(0, 2)), max_size=8))
def test_losses_and_gradients_are_finite(name: str, tokens: list[tuple[float, float, float, int]]) -> None:
    tokens.sort(key=lambda token: token[3])
    new, old, advantages = (torch.tensor([token[i] for token in tokens]) for i in range(3))
    new.requires_grad_()
    loss, is_clipped = loss_of(name, loss_inputs(new, old, advantages, [token[3] for token in tokens]))
    assert loss.shape == is_clipped.shape == new.shape
    assert loss.isfinite().all()
    (gradient,) = torch.autograd.grad(loss.sum(), new)
    assert gradient.isfinite().all()
    plugin: Loss[Any] = LOSSES.load(name)
    if plugin.needs_advantage and not advantages.any():
        assert not gradient.any()
