"""A-GRAE against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table

HARD_AND_EASY = outcomes(1, 0, 0, 0, 1, 1, 1, 0, groups=[0, 0, 0, 0, 1, 1, 1, 1])


# p 0.25 and 0.75, w 0.5; GRPO 1.499997, -0.499999 x 3 and 0.499999 x 3, -1.499997.
# paper, either task: 0.25 (1 / 0.5 + 1 / 0.866025) = 0.788675
# code, first: 0.25 (1 / 0.5 + 1 / 0.5) = 1; second: 0.25 (1 / 0.866025 + 1 / 0.133975) = 2.154701
# alpha 1: successes times 0.5; alpha 0.5 and less: times 1; alpha 2: times 0.25
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [0.591505, -0.394337, 0.197168, -1.183010]),
        ({"denominator": "paper"}, [0.591505, -0.394337, 0.197168, -1.183010]),
        ({"denominator": "code"}, [0.749997, -0.499998, 0.538670, -3.232023]),
        ({"alpha": 0.5}, [1.183010, -0.394337, 0.394337, -1.183010]),
        ({"alpha": 0.25}, [1.183010, -0.394337, 0.394337, -1.183010]),
        ({"alpha": 2.0}, [0.295752, -0.394337, 0.098584, -1.183010]),
        # centred 0.75 -0.25 | 0.25 -0.75, times 0.788675, successes times 0.5
        ({"normalize": "none"}, [0.295753, -0.197169, 0.098584, -0.591506]),
    ],
)
def test_a_hard_and_an_easy_task(settings: dict[str, Any], expected: list[float]) -> None:
    good, bad, fair, poor = expected
    found = advantages(HARD_AND_EASY, "a_grae", **settings)
    np.testing.assert_allclose(found, [good, bad, bad, bad, fair, fair, fair, poor], atol=5e-6)


def test_one_success_in_four() -> None:
    # p = w = 0.25: 0.5 (0.25 / 0.5 + 0.75 / 0.866025) = 0.683013; 1.499997 and -0.499999 times it, successes times 0.25
    found = advantages(outcomes(1, 0, 0, 0), "a_grae")
    np.testing.assert_allclose(found, [0.256129, -0.341506, -0.341506, -0.341506], atol=1e-6)


def test_epsilon_is_added_to_all_divisors() -> None:
    # a: 0.75 and -0.25 over 0.5 + 0.5; 0.5 (0.25 / (0.5 + 0.5) + 0.75 / (0.866025 + 0.5)) = 0.399519
    found = advantages(outcomes(1, 0, 0, 0), "a_grae", epsilon=0.5)
    np.testing.assert_allclose(found, [0.074910, -0.099880, -0.099880, -0.099880], atol=1e-6)


def test_every_step_has_its_episodes_advantage_and_every_task_counts_once() -> None:
    # scores 1 and 0 (p 0.5); a task of three failures (p 0): w 0.25.
    # a: +-0.707106; 0.5 (0.25 + 0.75) / 0.707107 = 0.707107; the success times 0.25
    episodes = table(
        [("a", 0.25), ("b", 0.75)], [("c", 0.0)], [("d", 0.0)], [("e", 0.0)], [("f", 0.0)], groups=[0, 0, 1, 1, 1]
    )
    np.testing.assert_allclose(advantages(episodes, "a_grae"), [0.125, 0.125, -0.5, 0, 0, 0], atol=2e-6)


def test_a_group_of_one_has_no_advantage_but_counts_as_a_task() -> None:
    # w = (1 + 0.25) / 2 = 0.625: 0.5 (0.625 / 0.5 + 0.375 / 0.866025) = 0.841506; the success times 0.625
    found = advantages(outcomes(1, 1, 0, 0, 0, groups=[0, 1, 1, 1, 1]), "a_grae")
    np.testing.assert_allclose(found, [0, 0.788910, -0.420752, -0.420752, -0.420752], atol=2e-6)


def test_a_reward_beyond_the_range_is_taken_for_its_end_in_p() -> None:
    # p = w = 0.5: 0.5 (0.5 + 0.5) / 0.707107 = 0.707107, a +-0.707107; the better times 0.5
    np.testing.assert_allclose(advantages(outcomes(10, -3), "a_grae"), [0.25, -0.5], atol=2e-6)


@pytest.mark.parametrize(
    ("denominator", "rewards", "expected"),
    [
        # p 0.000025 is taken for 0.125, w 0.500013. Centred 0.000075 -0.000025, std 0.00005, over 0.000051: 1.470588
        # -0.490196; 0.5 (0.500013 / 0.353554 + 0.499988 / 0.935415) = 0.974379; the better times w
        ("paper", (1e-4, 0, 0, 0, 1, 1), [0.716478, -0.477637]),
        # p 0.999975 is taken for 0.875, w 0.499988; 1 - 0.935414 = 0.064586: 0.5 (0.499988 / 0.935415 + 0.500013 /
        # 0.064587) = 4.138138; 0.490196 times it and w, and -1.470588 times it
        ("code", (1 - 1e-4, 1, 1, 1, 0, 0), [-6.085474, 1.014210]),
    ],
)
def test_p_is_kept_half_an_episode_away_from_its_ends(
    denominator: str, rewards: tuple[float, ...], expected: list[float]
) -> None:
    found = advantages(outcomes(*rewards, groups=[0] * 4 + [1] * 2), "a_grae", denominator=denominator)
    np.testing.assert_allclose(found, [expected[0], *[expected[1]] * 3, 0, 0], rtol=1e-5)


@pytest.mark.parametrize("rewards", [(-1.0, 0.0), (1.0, 2.0)])
@pytest.mark.parametrize("denominator", ["paper", "code"])
def test_advantages_are_0_when_p_is_0_or_1(rewards: tuple[float, float], denominator: str) -> None:
    found = advantages(outcomes(*rewards, 1, 0, groups=[0, 0, 1, 1]), "a_grae", denominator=denominator)
    np.testing.assert_array_equal(found[:2], [0, 0])


@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "a_grae"), np.zeros(3))
