"""The unlikeliness reward against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def sampled(episodes: StepTable, logprobs: Sequence[float], lengths: Sequence[int] | None = None) -> StepTable:
    length = np.ones(len(episodes)) if lengths is None else np.array(lengths, np.float64)
    return replace(episodes, logprob=np.array(logprobs, np.float64), length=length)


def test_the_unlikelier_of_two_successes_has_the_larger_advantage() -> None:
    # ranks 3 1 2 0: rewards 1 - 0.25 x 3/4 = 0.8125, 1 - 0.25 x 1/4 = 0.9375, 0, 0; mean 0.4375,
    # squares 0.140625 + 0.25 + 2 x 0.191406 = 0.773437 over 3, std 0.507752
    found = advantages(sampled(outcomes(1, 1, 0, 0), [-0.5, -1.5, -1, -2]), "unlikeliness")
    np.testing.assert_allclose(found, [0.738547, 0.984730, -0.861639, -0.861639], atol=1e-6)


def test_one_success_in_four() -> None:
    # rank 2: rewards 0.875 0 0 0; mean 0.21875, squares 0.430664 + 3 x 0.047852 = 0.574219 over 3, std 0.4375
    found = advantages(sampled(outcomes(1, 0, 0, 0), [-1, -0.5, -2, -3]), "unlikeliness")
    np.testing.assert_allclose(found, [1.499997, -0.499999, -0.499999, -0.499999], atol=1e-6)


# ranks 1 0 of two successes: rewards 1 - weight / 2 and 1; centred -+ weight / 4, std weight / (2 sqrt 2)
@pytest.mark.parametrize(
    ("weight", "epsilon", "expected"),
    [
        (0.25, 1e-6, 0.707099),  # 0.0625 / 0.088389
        (1.0, 1e-6, 0.707105),  # 0.25 / 0.353554
        (1.0, 0.646447, 0.25),  # the divisor is 1
        (0.0, 1e-6, 0.0),
    ],
)
def test_a_group_that_succeeded_is_pushed_to_the_unlikelier(weight: float, epsilon: float, expected: float) -> None:
    episodes = sampled(outcomes(1, 1), [-1, -2])
    found = advantages(episodes, "unlikeliness", weight=weight, epsilon=epsilon)
    np.testing.assert_allclose(found, [-expected, expected], atol=2e-6)


def test_without_weight_it_is_grpo() -> None:
    episodes = sampled(outcomes(0.3, 2, -1, 0, 1, groups=[0, 0, 0, 1, 1]), [-1, -2, -3, -4, -5])
    found = advantages(episodes, "unlikeliness", weight=0.0)
    np.testing.assert_allclose(found, advantages(episodes, "grpo"), atol=1e-12)


def test_ranks_are_those_of_the_group() -> None:
    # both groups have ranks 1 0, at every level of their logprobs
    episodes = sampled(outcomes(1, 1, 1, 1, groups=[0, 0, 1, 1]), [-1, -2, -11, -12])
    found = advantages(episodes, "unlikeliness")
    np.testing.assert_allclose(found, [-0.707099, 0.707099, -0.707099, 0.707099], atol=2e-6)


def test_an_episodes_likelihood_is_the_mean_over_its_tokens() -> None:
    # (3 x -1 + 1 x -3) / 4 = -1.5, likelier than -1.6; the mean over steps, -2, would not be
    episodes = sampled(table([("a", 0.5), ("b", 0.5)], [("c", 1.0)]), [-1, -3, -1.6], [3, 1, 10])
    np.testing.assert_allclose(advantages(episodes, "unlikeliness"), [-0.707099, -0.707099, 0.707099], atol=2e-6)


def test_a_step_without_tokens_does_not_count() -> None:
    # left: -3 against -1.6
    episodes = sampled(table([("a", 0.5), ("b", 0.5)], [("c", 1.0)]), [-1, -3, -1.6], [0, 1, 10])
    np.testing.assert_allclose(advantages(episodes, "unlikeliness"), [0.707099, 0.707099, -0.707099], atol=2e-6)


def test_of_an_episode_without_tokens_the_first_step_counts() -> None:
    # -1 against -2
    episodes = sampled(table([("a", 0.5), ("b", 0.5)], [("c", 1.0)]), [-1, -3, -2], [0, 0, 1])
    np.testing.assert_allclose(advantages(episodes, "unlikeliness"), [-0.707099, -0.707099, 0.707099], atol=2e-6)


def test_equally_likely_episodes_share_the_mean_of_their_ranks() -> None:
    # ranks 1.5 0 1.5: rewards 0.875 1 0.875, mean 0.916667, squares 2 x 0.001736 + 0.006944 over 2, std 0.072169
    found = advantages(sampled(outcomes(1, 1, 1), [-1, -2, -1]), "unlikeliness")
    np.testing.assert_allclose(found, [-0.577342, 1.154684, -0.577342], atol=2e-6)


@pytest.mark.parametrize(("logprob", "lengths"), [(0.0, [1, 2, 3]), (-0.1, [3, 7, 5])])
def test_equal_successes_that_are_equally_likely_have_no_advantage(logprob: float, lengths: list[int]) -> None:
    episodes = sampled(table([("a", 0.0), ("b", 1.0)], [("c", 1.0)]), [logprob, logprob, logprob], lengths)
    np.testing.assert_array_equal(advantages(episodes, "unlikeliness"), np.zeros(3))


def test_both_zeros_are_equally_likely() -> None:
    np.testing.assert_array_equal(advantages(sampled(outcomes(1, 1), [0.0, -0.0]), "unlikeliness"), [0, 0])


def test_a_group_that_only_failed_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(sampled(outcomes(0, 0, 0), [-1, -2, -3]), "unlikeliness"), np.zeros(3))


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(sampled(outcomes(1), [-1]), "unlikeliness"), [0.0])


def test_without_lengths_and_logprobs_it_is_refused() -> None:
    with pytest.raises(CairnError, match="'unlikeliness' needs length, logprob"):
        advantages(outcomes(1, 0), "unlikeliness")
