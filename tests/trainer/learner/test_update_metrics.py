"""Sampled against trained logprobs: measured, bounded, corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError
from cairn.trainer.learner.batch import make_batch
from cairn.trainer.learner.learner import Learner, LearnerConfig, logprobs_and_entropy, loss_weights
from cairn.trainer.learner.samples import Sample
from cairn.trainer.learner.update_metrics import Mismatch
from tests.agents.tiny import policy
from tests.trainer.learner.test_learner import mixed


def sampled(of: Policy, offset: float = 0.0, version: int = 3) -> list[Sample]:
    """Return samples that store the policy's own logprobs, `offset` away from them."""
    out = []
    for sample in mixed():
        with torch.no_grad():
            batch = make_batch([sample], loss_weights([sample], "token"), torch.device("cpu"))
            own = logprobs_and_entropy(of, batch, 1.0)[0].double().numpy()
        versions = np.full(len(sample.positions), version, np.int32)
        out.append(replace(sample, old_logprobs=own + offset, versions=versions))
    return out


def learned(of: Policy, samples: list[Sample], **settings: float) -> dict[str, float]:
    return Learner(of, LearnerConfig.model_validate(settings), 1).update(samples, 0, version=3)


def test_the_three_numbers_by_hand() -> None:
    of = Mismatch()
    of.add(torch.tensor([-1.0, -2.0]), torch.tensor([-0.5, -2.25]), lambda i: [i])
    of.add(torch.tensor([-1.0]), torch.tensor([-1.0]), lambda i: [i])
    of.add(torch.tensor([]), torch.tensor([]), lambda i: [i])
    found = of.metrics()
    assert found["mismatch/mean"] == pytest.approx((0.5 + 0.25) / 3)
    assert found["mismatch/max"] == 0.5
    assert found["mismatch/k3"] == pytest.approx((np.exp(0.5) - 1.5 + np.exp(-0.25) - 0.75) / 3)
    assert found["mismatch/tokens"] == 3


def test_the_mismatch_of_no_tokens_is_0() -> None:
    of = Mismatch()
    of.check(1e-9, lambda ids: "")
    assert of.metrics() == {"mismatch/mean": 0.0, "mismatch/max": 0.0, "mismatch/k3": 0.0, "mismatch/tokens": 0.0}


@pytest.mark.parametrize("settings", [{}, {"minibatches": 2}, {"importance_cap": 2.0}, {"micro_batch_tokens": 1}])
def test_samples_of_the_policy_itself_have_no_mismatch(settings: dict[str, float]) -> None:
    samples = sampled(of := policy())
    found = learned(of, samples, **settings)
    assert found["mismatch/max"] < 1e-4
    count = sum(len(s.positions) for s in samples)
    assert found["mismatch/tokens"] == (count if "minibatches" not in settings else pytest.approx(count / 2, rel=0.8))


def test_a_constant_offset_is_measured() -> None:
    found = learned(of := policy(), sampled(of, offset=0.05))
    assert found["mismatch/mean"] == pytest.approx(0.05, abs=1e-4)
    assert found["mismatch/k3"] == pytest.approx(np.exp(-0.05) - 1 + 0.05, abs=1e-5)


@pytest.mark.parametrize("cap", [None, 2.0])
def test_a_large_mismatch_raises_an_error_with_its_place_and_changes_nothing(cap: float | None) -> None:
    samples = sampled(of := policy())
    old = samples[2].old_logprobs.copy()
    old[4] += 30.0
    samples[2] = replace(samples[2], old_logprobs=old)
    before = [weight.detach().clone() for weight in of.model.parameters()]
    token, place = int(samples[2].ids[samples[2].positions[4]]), int(samples[2].positions[4])
    with pytest.raises(CairnError, match=rf"token {token} \(.*\), place {place} of its sequence.*Compare temperature"):
        learned(of, samples, max_mismatch=0.3, **({} if cap is None else {"importance_cap": cap}))
    assert all(torch.equal(a, b) for a, b in zip(before, of.model.parameters(), strict=True))


def test_tokens_of_older_weights_are_not_compared() -> None:
    of = policy()
    samples = [*sampled(of, offset=0.05)[:2], *sampled(of, offset=9.0, version=2)[2:]]
    found = learned(of, samples)
    assert found["mismatch/tokens"] == sum(len(s.positions) for s in samples[:2])
    assert found["mismatch/mean"] == pytest.approx(0.05, abs=1e-4)
    assert learned(policy(), mixed())["mismatch/tokens"] == 0  # of no known weights


@pytest.mark.parametrize(("offset", "importance"), [(0.3, np.exp(-0.3)), (-0.3, np.exp(0.3)), (-3.0, 2.0)])
def test_older_tokens_count_by_their_truncated_importance(offset: float, importance: float) -> None:
    """On the first step the ratio to the recomputed logprobs is 1, so that importance scales the gradient."""
    base = learned(of := policy(), sampled(of, version=2))
    found = learned(of := policy(), sampled(of, offset=offset, version=2), importance_cap=2.0)
    assert found["grad_norm"] == pytest.approx(importance * base["grad_norm"], rel=1e-3)
    assert found["importance/mean"] == pytest.approx(importance, rel=1e-4)
    assert found["importance/capped"] == float(offset == -3.0)
    assert "importance/mean" not in base


def test_with_equal_logprobs_the_correction_has_no_effect() -> None:
    plain, corrected = policy(), policy()
    learned(plain, sampled(plain))
    learned(corrected, sampled(corrected), importance_cap=2.0)
    for one, two in zip(plain.model.parameters(), corrected.model.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)
