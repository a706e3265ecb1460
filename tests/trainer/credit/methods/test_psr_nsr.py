"""PSR, NSR and W-REINFORCE: fixed advantages on either side of the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [0.1, -1, -1, 0.1]),
        ({"positive": 1.0, "negative": 0.0}, [1, 0, 0, 1]),  # PSR
        ({"positive": 0.0, "negative": 1.0}, [0, -1, -1, 0]),  # NSR
        ({"positive": 0.3, "negative": 0.7}, [0.3, -0.7, -0.7, 0.3]),
    ],
)
def test_two_successes_in_four(settings: dict[str, Any], expected: list[float]) -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 0, 0, 1), "psr_nsr", **settings), expected)


def test_one_success_in_four() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 0, 0, 0), "psr_nsr"), [0.1, -1, -1, -1])


def test_a_reward_equal_to_the_threshold_is_not_enough() -> None:
    np.testing.assert_array_equal(advantages(outcomes(0.5, 0.500001, 0.4), "psr_nsr"), [-1, 0.1, -1])


def test_the_threshold_is_a_setting() -> None:
    np.testing.assert_array_equal(advantages(outcomes(-1, 0, 1), "psr_nsr", threshold=-0.5), [-1, 0.1, 0.1])


def test_rewards_of_several_steps_add_up_and_every_step_has_its_episodes_advantage() -> None:
    # scores 0.6 and 0.4
    found = advantages(table([("a", 0.3), ("b", 0.3)], [("c", 0.4), ("d", 0.0)]), "psr_nsr")
    np.testing.assert_array_equal(found, [0.1, 0.1, -1, -1])


def test_groups_play_no_part() -> None:
    # a group of one, one without spread, one with
    found = advantages(outcomes(1, 0, 0, 1, 0, groups=[0, 1, 1, 2, 2]), "psr_nsr")
    np.testing.assert_array_equal(found, [0.1, -1, -1, 0.1, -1])
