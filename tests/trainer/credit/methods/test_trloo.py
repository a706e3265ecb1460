"""TRLOO against the worked example: rewards .2 0 1, 0 .5, .1 .2 .3 of three episodes.

Returns: 1.2 1 1, .5 .5, .6 .5 .3. Rows: A0 A1 A2 B0 B1 C0 C1 C2.
"""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table

EPISODES = ([("a", 0.2), ("b", 0.0), ("c", 1.0)], [("a", 0.0), ("d", 0.5)], [("a", 0.1), ("e", 0.2), ("f", 0.3)])


def test_the_worked_example() -> None:
    # turn 0: 1.2 - (.5 + .6) / 2 = .65, .5 - .9 = -.4, .6 - .85 = -.25; turn 1: 1 - .5, .5 - .75, .5 - .75
    # turn 2, without B: 1 - .3 and .3 - 1
    found = advantages(table(*EPISODES), "trloo")
    np.testing.assert_allclose(found, [0.65, 0.5, 0.7, -0.4, -0.25, -0.25, -0.25, -0.7], atol=1e-12)


def test_later_rewards_are_discounted() -> None:
    # gamma .5: returns .2 + .25 = .45, .5, 1; .25, .5; .1 + .1 + .075 = .275, .2 + .15 = .35, .3
    # turn 0: .45 - .2625, .25 - .3625, .275 - .35; turn 1: .5 - .425, .5 - .425, .35 - .5; turn 2: +-.7
    found = advantages(table(*EPISODES), "trloo", gamma=0.5)
    np.testing.assert_allclose(found, [0.1875, 0.075, 0.7, -0.1125, 0.075, -0.075, -0.15, -0.7], atol=1e-12)


@pytest.mark.parametrize(("singleton", "last"), [("zero", 0.0), ("raw", 1.0)])
def test_a_turn_that_one_episode_alone_has(singleton: str, last: float) -> None:
    # turn 0: 1 - 0.5; turn 1 is A's alone, and its return is 1
    found = advantages(table([("a", 0.0), ("b", 1.0)], [("a", 0.5)]), "trloo", singleton=singleton)
    np.testing.assert_allclose(found, [0.5, last, -0.5], atol=1e-12)


def test_turns_of_two_tasks_are_not_compared() -> None:
    found = advantages(outcomes(1, 0, 5, 3, groups=[0, 0, 1, 1]), "trloo")
    np.testing.assert_allclose(found, [1, -1, 2, -2], atol=1e-12)


def test_one_turn_is_leave_one_out() -> None:
    # 1 - 0, and 0 - 1/3
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0), "trloo"), [1, -1 / 3, -1 / 3, -1 / 3], atol=1e-12)


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(table([("a", 0.3), ("b", 1.0)]), "trloo"), np.zeros(2))


def test_equal_returns_give_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(outcomes(0.3, 0.3, 0.3), "trloo"), np.zeros(3))
