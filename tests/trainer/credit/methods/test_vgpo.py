"""VGPO against the worked example: returns .2 .4 .9 and .1 .5 .5, k .5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.table import Floats
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table

EXPECTED = [0.322843, -0.405685, 2.082792, -0.179211, 1.305145, -0.623327]


def found(*rewards: Sequence[float], **config: object) -> Floats:
    episodes = [[(f"{e} {t}", reward) for t, reward in enumerate(steps)] for e, steps in enumerate(rewards)]
    return advantages(table(*episodes), "vgpo", **config)


def test_the_worked_example() -> None:
    # weights .2/.5, .4/.5, .9/.5 and .1/.366667, .5/.366667 twice. Turn 0: +-.05 / .070711 = +-.707107, so
    # .4 (.707107 + .1) = .322843 and .272727 (-.707107 + .05) = -.179211; the other turns alike.
    np.testing.assert_allclose(found([0.2, 0.4, 0.9], [0.1, 0.5, 0.5], gamma=0.0, k=0.5), EXPECTED, atol=1e-6)


def test_returns_are_discounted_sums() -> None:
    # gamma .1: .9; .31 + .09 = .4; .16 + .04 = .2. .5; .45 + .05 = .5; .05 + .05 = .1.
    np.testing.assert_allclose(found([0.16, 0.31, 0.9], [0.05, 0.45, 0.5], gamma=0.1, k=0.5), EXPECTED, atol=1e-6)


def test_only_the_first_turns_get_their_share_if_so_set() -> None:
    # Turn 0 as before; turn 1: .8 x -.707107 and 1.363636 x .707107; turn 2: 1.8 x .707107, 1.363636 x -.707107.
    rows = found([0.2, 0.4, 0.9], [0.1, 0.5, 0.5], gamma=0.0, k=0.5, absolute_turns=1)
    np.testing.assert_allclose(rows, [0.322843, -0.565685, 1.272792, -0.179211, 0.964236, -0.964236], atol=1e-6)


@pytest.mark.parametrize(("k", "expected"), [(0.5, 0.4), (0.25, 0.2), (0.0, 0.0)])
def test_equal_returns_keep_a_share_of_themselves(k: float, expected: float) -> None:
    # one turn: weight 1, and k x .8
    np.testing.assert_allclose(advantages(outcomes(0.8, 0.8, 0.8), "vgpo", k=k), [expected] * 3, atol=1e-12)


def test_an_episode_whose_returns_are_nothing_has_weight_one() -> None:
    # 1: mean .5, std .707107: .707107 + .5; 0: -.707107 x 1
    np.testing.assert_allclose(advantages(outcomes(1, 0), "vgpo", k=0.5), [1.207107, -0.707107], atol=1e-6)


def test_a_weight_is_at_most_the_number_of_turns() -> None:
    # returns 1 and -.998: mean .001, so the weights would be 1000 and -998; they are 2 and -2. The other episode: 1.
    # Turn 0: +-.707107, turn 1: -+.707107
    rows = found([1.0, -0.998], [0.0, 0.0], gamma=0.0, k=0.0)
    np.testing.assert_allclose(rows, [1.414214, 1.414214, -0.707107, 0.707107], atol=1e-6)


def test_epsilon_is_added_to_the_deviation() -> None:
    np.testing.assert_allclose(
        advantages(outcomes(1, 0), "vgpo", k=0.0, epsilon=1.0), [0.5 / 1.707107, -0.5 / 1.707107], atol=1e-6
    )


def test_a_turn_that_one_episode_alone_has_gives_no_advantage() -> None:
    # Turn 0, gamma 1: returns 2 and 1, weights 2 / 1.5 and 1: 4/3 (.707107 + 1) and -.707107 + .5.
    rows = found([1.0, 1.0], [1.0], gamma=1.0, k=0.5)
    np.testing.assert_allclose(rows, [2.276142, 0.0, -0.207107], atol=1e-6)


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(found([0.5, 1.0]), np.zeros(2))


def test_turns_of_two_tasks_are_not_compared() -> None:
    rows = advantages(outcomes(1, 0, 5, 3, groups=[0, 0, 1, 1]), "vgpo", k=0.0)
    np.testing.assert_allclose(rows, [0.707107, -0.707107, 0.707107, -0.707107], atol=1e-6)
