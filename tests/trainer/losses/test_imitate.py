"""Imitation: the negative log-likelihood, weighted by the advantage."""

from __future__ import annotations

import pytest
import torch

from cairn.core.config import build
from cairn.core.errors import ConfigError
from cairn.trainer.losses.imitate import LOSS, ImitateConfig
from tests.trainer.losses.inputs import loss_inputs

IMITATE = LOSS.make(ImitateConfig())


def test_value_and_gradient() -> None:
    new = torch.tensor([-0.5, -2.0, -3.0], requires_grad=True)
    loss, is_clipped = IMITATE(loss_inputs(new, torch.zeros(3), torch.tensor([1.0, 0.25, -1.0])))
    assert loss.tolist() == [0.5, 0.5, -3.0]
    assert torch.autograd.grad(loss.sum(), new)[0].tolist() == [-1.0, -0.25, 1.0]
    assert not is_clipped.any()


def test_the_loss_does_not_depend_on_the_old_policy() -> None:
    new, ones = torch.tensor([-0.5]), torch.ones(1)
    near, _ = IMITATE(loss_inputs(new, torch.tensor([-0.5]), ones))
    far, _ = IMITATE(loss_inputs(new, torch.tensor([-50.0]), ones))
    assert near.tolist() == far.tolist() == [0.5]


def test_it_has_no_settings() -> None:
    with pytest.raises(ConfigError, match="unknown key 'low'"):
        build(ImitateConfig, {"low": 0.2}, "loss.imitate")
