"""XRPO's sharpening against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def sampled(episodes: StepTable, logprobs: Sequence[float], lengths: Sequence[int] | None = None) -> StepTable:
    length = np.ones(len(episodes)) if lengths is None else np.array(lengths, np.float64)
    return replace(episodes, logprob=np.array(logprobs, np.float64), length=length)


# mean logprob -0.875, eta 0.722527 1.316531 1.077884 0.975310; GRPO +-0.866024 (mean 0.5, std 0.577350).
# bonus of the first: 2.5 x 0.277473 = 0.693683, capped at 0.433012
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [1.299036, 0.866024, -0.866024, -0.866024]),
        ({"cap": 1.0}, [1.559707, 0.866024, -0.866024, -0.866024]),  # 0.866024 + 0.693683
        ({"cap": 0.0}, [0.866024, 0.866024, -0.866024, -0.866024]),
        ({"novelty": 1.0}, [1.143497, 0.866024, -0.866024, -0.866024]),  # 0.866024 + 0.277473
        ({"novelty": 0.0}, [0.866024, 0.866024, -0.866024, -0.866024]),
        # the fourth, too: 2.5 x 0.024690 = 0.061725
        ({"applies_to": "all"}, [1.299036, 0.866024, -0.866024, -0.804299]),
        ({"normalize": "none"}, [0.75, 0.5, -0.5, -0.5]),  # 0.5 + min(0.693683, 0.25)
        ({"epsilon": 0.422650}, [0.75, 0.5, -0.5, -0.5]),  # the divisor is 1
    ],
)
def test_of_two_successes_the_unlikelier_has_a_bonus(settings: dict[str, Any], expected: list[float]) -> None:
    found = advantages(sampled(outcomes(1, 1, 0, 0), [-1.2, -0.6, -0.8, -0.9]), "xrpo", **settings)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_one_success_in_four() -> None:
    # mean logprob -1.625, eta of the success exp(0.125) > 1: GRPO; exp(-0.375): 1.499997 + min(0.781777, 0.749999)
    likely = advantages(sampled(outcomes(1, 0, 0, 0), [-1.5, -1, -2, -2]), "xrpo")
    np.testing.assert_allclose(likely, [1.499997, -0.499999, -0.499999, -0.499999], atol=2e-6)
    unlikely = advantages(sampled(outcomes(0, 0, 1, 0), [-1.5, -1, -2, -2]), "xrpo")
    np.testing.assert_allclose(unlikely, [-0.499999, -0.499999, 2.249996, -0.499999], atol=2e-6)


def test_each_task_is_compared_with_itself() -> None:
    # without the division +-0.5; mean logprobs -1.5 and -11.5; in the first task the success is the unlikelier:
    # eta exp(-0.5), bonus min(2.5 x 0.393469, 0.25)
    episodes = sampled(outcomes(1, 0, 1, 0, groups=[0, 0, 1, 1]), [-2, -1, -11, -12])
    np.testing.assert_allclose(advantages(episodes, "xrpo", normalize="none"), [0.75, -0.5, 0.5, -0.5], atol=1e-12)


def test_an_episodes_likelihood_is_the_mean_over_its_tokens() -> None:
    # (3 x -1 + 1 x -3) / 4 = -1.5 against -1.3: eta exp(-0.1), bonus 2.5 x 0.095163 = 0.237906
    episodes = sampled(table([("a", 0.0), ("b", 1.0)], [("c", 0.0)]), [-1, -3, -1.3], [3, 1, 10])
    found = advantages(episodes, "xrpo", normalize="none")
    np.testing.assert_allclose(found, [0.737906, 0.737906, -0.5], atol=1e-6)
    # without the second step's token -1 against -1.3: no bonus
    found = advantages(sampled(episodes, [-1, -3, -1.3], [3, 0, 10]), "xrpo", normalize="none")
    np.testing.assert_allclose(found, [0.5, 0.5, -0.5], atol=1e-12)


def test_equal_rewards_have_no_bonus() -> None:
    found = advantages(sampled(outcomes(1, 1, 1), [-1, -2, -9]), "xrpo")
    np.testing.assert_array_equal(found, np.zeros(3))


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(sampled(outcomes(1), [-3]), "xrpo"), [0.0])


def test_a_huge_distance_of_logprobs_does_not_overflow() -> None:
    # the failure is nearly impossible: eta of the success is far above 1, no bonus
    with np.errstate(all="raise"):
        found = advantages(sampled(outcomes(1, 0), [0.0, -4000.0]), "xrpo", normalize="none")
    np.testing.assert_allclose(found, [0.5, -0.5], atol=1e-12)


def test_without_lengths_and_logprobs_it_is_refused() -> None:
    with pytest.raises(CairnError, match="'xrpo' needs length, logprob"):
        advantages(outcomes(1, 0), "xrpo")
