"""GiGPO against the worked example: episodes A (s0 s1 s2, solved), B (s0 s1 s3, not), C (s0 s4, solved), gamma 0.95.

Returns: A 0.9025 0.95 1, B 0 0 0, C 0.95 1. Rows: A0 A1 A2 B0 B1 B2 C0 C1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, B, C, outcomes, table

# s0: mean (0.9025 + 0 + 0.95) / 3 = 0.6175; s1: mean (0.95 + 0) / 2 = 0.475; the other states were visited once
STEP = [0.285, 0.475, 0, -0.6175, -0.475, 0, 0.3325, 0]
# rows of solved episodes 1 (five of them), of the other 0 (three): mean 5/8, ddof 1: std 0.517549
EPISODE_OVER_STEPS = [0.375] * 3 + [-0.625] * 3 + [0.375] * 2
OVER_STEPS = [0.66, 0.85, 0.375, -1.2425, -1.1, -0.625, 0.7075, 0.375]
OVER_STEPS_STD = [1.256980, 1.431673, 0.724567, -2.361174, -1.914718, -1.207612, 1.345716, 0.724567]
# three episodes, two solved: mean 2/3
OVER_EPISODES = [0.618333, 0.808333, 0.333333, -1.284167, -1.141667, -0.666667, 0.665833, 0.333333]
# std of 1, 0, 1 is 0.577350: 0.577350 and -1.154700 for the episodes; std of s0 0.535298, of s1 0.671751:
# 0.285 / 0.535298 = 0.532414, 0.475 / 0.671751 = 0.707107, -0.6175 / 0.535298 = -1.153563, 0.3325 / 0.535298 = 0.621150
OVER_EPISODES_STD = [1.109764, 1.284457, 0.577350, -2.308263, -1.861807, -1.154700, 1.198500, 0.577350]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"averaging": "step", "weight": 0.0}, EPISODE_OVER_STEPS),
        ({"averaging": "step"}, OVER_STEPS),
        ({"averaging": "step", "normalize": "std"}, OVER_STEPS_STD),
        ({"averaging": "episode"}, OVER_EPISODES),
        ({"averaging": "episode", "normalize": "std"}, OVER_EPISODES_STD),
        ({}, OVER_EPISODES),
    ],
)
def test_the_worked_example(settings: dict[str, Any], expected: list[float]) -> None:
    np.testing.assert_allclose(advantages(table(A, B, C), "gigpo", **settings), expected, atol=3e-6)


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
def test_the_step_term_has_its_weight(weight: float) -> None:
    found = advantages(table(A, B, C), "gigpo", weight=weight) - advantages(table(A, B, C), "gigpo", weight=0.0)
    np.testing.assert_allclose(found, weight * np.array(STEP), atol=1e-12)


def test_an_invalid_reply_is_penalised_in_both_terms_over_steps() -> None:
    # Row B1: score -0.1, so the mean of the rows is 4.9 / 8 = 0.6125; its return is -0.1, so the mean of s1 is 0.425.
    found = advantages(table(A, B, C, invalid=[4]), "gigpo", averaging="step")
    np.testing.assert_allclose(found, [0.6725, 0.9125, 0.3875, -1.23, -1.2375, -0.6125, 0.72, 0.3875], atol=1e-12)


def test_an_invalid_reply_enters_the_mean_with_its_share_of_the_episode() -> None:
    # Row B1: score -0.1. B has three rows, so its mean is -0.1 / 3, and the mean of the episodes (2 - 0.1 / 3) / 3 =
    # 0.655556. Step term: B1 returns -0.1, so the mean of s1 is 0.425. B1: (-0.1 - 0.655556) + (-0.1 - 0.425).
    found = advantages(table(A, B, C, invalid=[4]), "gigpo")
    rows = [0.629444, 0.869444, 0.344444, -1.273056, -1.280556, -0.655556, 0.676944, 0.344444]
    np.testing.assert_allclose(found, rows, atol=1e-6)


def test_it_does_not_matter_which_reply_of_an_episode_is_invalid() -> None:
    # Row B0: the mean is 0.655556 again. Its return is -0.1, so the mean of s0 is 1.7525 / 3 = 0.584167.
    found = advantages(table(A, B, C, invalid=[3]), "gigpo")
    rows = [0.662778, 0.819444, 0.344444, -1.439722, -1.130556, -0.655556, 0.710278, 0.344444]
    np.testing.assert_allclose(found, rows, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "settings"), [("gigpo", {"weight": 0.0}), ("graphgpo", {"step_weight": 0.0, "averaging": "episode"})]
)
def test_an_invalid_reply_in_a_uniform_group_has_a_bounded_advantage(method: str, settings: dict[str, Any]) -> None:
    # Three solved episodes of two rows, one reply invalid: scores 0.9 1, 1 1, 1 1. Each row weighs 1/2:
    # mean (0.95 + 1 + 1) / 3 = 0.983333; variance (0.5 * 0.083333^2 + 2.5 * 0.016667^2) / (3 - 1) = 0.002083333,
    # std 0.045644; -0.083333 / 0.045644 = -1.825742 and 0.016667 / 0.045644 = 0.365148; the bound is sqrt(2 * 2) = 2
    found = advantages(table(C, C, C, invalid=[0]), method, normalize="std", **settings)
    np.testing.assert_allclose(found, [-1.825742] + [0.365148] * 5, atol=5e-5)


def test_the_size_of_the_penalty_is_a_setting() -> None:
    # Row B1: the mean is (2 - 0.5 / 3) / 3 = 0.611111; -0.611111 - 0.5, and -0.5 - (0.95 - 0.5) / 2 = -0.725
    found = advantages(table(A, B, C, invalid=[4]), "gigpo", invalid_penalty=0.5)
    np.testing.assert_allclose(found[4], -0.611111 - 0.5 - 0.725, atol=1e-6)


def test_a_penalty_is_not_discounted_back_to_earlier_steps() -> None:
    # Row B2, alone in its state: the mean falls from 2/3 by 0.1 / 9 for all rows, and B2 loses 0.1
    found = advantages(table(A, B, C, invalid=[5]), "gigpo")
    expected = np.array(OVER_EPISODES) + 0.1 / 9 - 0.1 * np.array([0, 0, 0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_action_that_began_a_loop_is_below_the_one_that_left_it() -> None:
    # One episode: no episode term. Returns in the state: 0.95 and 1, mean 0.975.
    np.testing.assert_allclose(advantages(table([("s", 0.0), ("s", 1.0)]), "gigpo"), [-0.025, 0.025], atol=1e-12)


def test_a_state_seen_once_falls_back_to_the_episode_term() -> None:
    episodes = outcomes(1, 0, 0, 0)  # four states, each seen once
    np.testing.assert_array_equal(advantages(episodes, "gigpo"), advantages(episodes, "grpo", normalize="none"))


def test_one_step_from_one_state_doubles_the_episode_term() -> None:
    # "A = (1 + w) x episode advantage" where every episode is one step from the same state
    episodes = table(*([("start", reward)] for reward in (1.0, 0.0, 0.0, 0.0)))
    np.testing.assert_allclose(advantages(episodes, "gigpo"), [1.5, -0.5, -0.5, -0.5], atol=1e-12)


def test_equal_anchors_of_two_tasks_are_two_states() -> None:
    episodes = table([("s", 1.0)], [("s", 0.0)], [("s", 5.0)], [("s", 4.0)], groups=[0, 0, 1, 1])
    np.testing.assert_allclose(advantages(episodes, "gigpo"), [1, -1, 1, -1], atol=1e-12)


@pytest.mark.parametrize("normalize", ["none", "std"])
def test_a_task_with_one_episode_has_no_episode_term(normalize: str) -> None:
    found = advantages(table([("a", 0.0), ("b", 1.0)]), "gigpo", normalize=normalize)
    np.testing.assert_array_equal(found, np.zeros(2))


def test_rows_of_a_task_with_one_episode_differ_by_the_penalty_alone() -> None:
    # scores 0.9 and 1, mean 0.95; both states are seen once
    found = advantages(table([("a", 0.0), ("b", 1.0)], invalid=[0]), "gigpo")
    np.testing.assert_allclose(found, [-0.05, 0.05], atol=1e-12)


@pytest.mark.parametrize("averaging", ["episode", "step"])
@pytest.mark.parametrize("normalize", ["none", "std"])
def test_equal_returns_give_no_advantage(averaging: str, normalize: str) -> None:
    found = advantages(table(C, C, C), "gigpo", averaging=averaging, normalize=normalize)
    np.testing.assert_array_equal(found, np.zeros(6))


def test_near_returns_keep_their_digits() -> None:
    # 1e8 + {0, 0.5, 1}: a one-pass variance has no correct digit left; (x - mean) / std = -1, 0, 1
    found = advantages(table([("s", 1e8)], [("s", 1e8 + 0.5)], [("s", 1e8 + 1)]), "gigpo", normalize="std", gamma=1.0)
    np.testing.assert_allclose(found, [-2, 0, 2], atol=1e-4)
