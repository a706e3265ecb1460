"""Advantage Alignment against the worked example: A1 = 1 -.5 .2, A2 = .5 1 -1, gamma .9, beta 1.

Against an episode that earns nothing, leave-one-out advantages are the returns. Agent 1 earns 1.45, -.68, .2: returns
.2; -.68 + .18 = -.5; 1.45 - .45 = 1. Agent 2 earns -.4, 1.9, -1: returns -1; 1.9 - .9 = 1; -.4 + .9 = .5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, played

Rows = Sequence[tuple[int, float]]  # the agent of each turn, and its reward
FIRST, SECOND = [1.45, -0.68, 0.2], [-0.4, 1.9, -1.0]


def in_turns(first: Sequence[float], second: Sequence[float]) -> list[tuple[int, float]]:
    return [row for a, b in zip(first, second, strict=True) for row in ((1, a), (2, b))]


NOTHING = in_turns([0, 0, 0], [0, 0, 0])
# w1 = 0, .9 x 1 = .9, .81 x 1 - .9 x .5 = .36: out 1; -.5 + .9 x 1 = .4; .2 - .36 = -.16
# w2 = 0, .9 x .5 = .45, .81 x .5 + .9 x 1 = 1.305: out .5; 1 - .45 x .5 = .775; -1 + 1.305 x .2 = -.739
ONE, TWO = [1, 0.4, -0.16], [0.5, 0.775, -0.739]


def test_the_worked_example() -> None:
    found = advantages(played(in_turns(FIRST, SECOND), NOTHING), "advantage_alignment")
    np.testing.assert_allclose(found[:6:2], ONE, atol=1e-12)
    np.testing.assert_allclose(found[1:6:2], TWO, atol=1e-12)


def test_the_episode_of_the_other_side_has_the_opposite_advantages() -> None:
    # A is turned around, and w A2 is a product of two that are: -1; .5 + .9 x 1 = 1.4; -.2 - .36 = -.56
    found = advantages(played(in_turns(FIRST, SECOND), NOTHING), "advantage_alignment")
    np.testing.assert_allclose(found[6::2], [-1, 1.4, -0.56], atol=1e-12)


def test_pairs_are_made_by_own_turn_for_every_order_of_play() -> None:
    # all of agent 1's turns, then all of agent 2's
    one_by_one = [(1, x) for x in FIRST] + [(2, x) for x in SECOND]
    found = advantages(played(one_by_one, NOTHING), "advantage_alignment")
    np.testing.assert_allclose(found[:6], [*ONE, *TWO], atol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_other_agents_part_has_its_weight(beta: float) -> None:
    # the product term of agent 1: 0, .9, -.36
    found = advantages(played(in_turns(FIRST, SECOND), NOTHING), "advantage_alignment", beta=beta)
    np.testing.assert_allclose(found[:6:2], [1, -0.5 + 0.9 * beta, 0.2 - 0.36 * beta], atol=1e-12)


def test_the_code_discounts_once_more() -> None:
    # w1 = 0, .81, .324
    found = advantages(played(in_turns(FIRST, SECOND), NOTHING), "advantage_alignment", extra_discount=True)
    np.testing.assert_allclose(found[:6:2], [1, -0.5 + 0.81, 0.2 - 0.324], atol=1e-12)


def test_the_discount_applies_to_returns_and_to_the_past() -> None:
    # gamma .5: agent 1 earns 1, 1: returns 1.5, 1; agent 2 earns 0, 2: returns 1, 2. w1 = 0, .75: 1 + .75 x 2.
    found = advantages(played(in_turns([1, 1], [0, 2]), NOTHING[:4]), "advantage_alignment", gamma=0.5)
    np.testing.assert_allclose(found[:4:2], [1.5, 2.5], atol=1e-12)


def test_the_baseline_leaves_the_own_episode_out() -> None:
    # one turn: agent 1 earns 3, 1, 0: 3 - .5, 1 - 1.5, 0 - 2; agent 2 earns nothing
    found = advantages(played([(1, 3), (2, 0)], [(1, 1), (2, 0)], [(1, 0), (2, 0)]), "advantage_alignment")
    np.testing.assert_allclose(found, [2.5, 0, -0.5, 0, -2, 0], atol=1e-12)


def test_one_agent_alone_has_its_own_advantage() -> None:
    found = advantages(played([(1, x) for x in FIRST], [(1, 0.0)] * 3), "advantage_alignment")
    np.testing.assert_allclose(found, [1, -0.5, 0.2, -1, 0.5, -0.2], atol=1e-12)


def test_a_row_without_a_pair_has_its_own_advantage() -> None:
    # Agent 2 acts once in both episodes: agent 1's second turn stands alone.
    episodes = ([(1, 0.0), (2, 1.0), (1, 1.0)], [(1, 0.0), (2, 0.0), (1, 0.0)])
    np.testing.assert_allclose(advantages(played(*episodes), "advantage_alignment")[:3], [0.9, 1, 1], atol=1e-12)


def test_of_three_agents_the_others_add_up() -> None:
    # gamma 1: agent 1 earns 1 then 0; agents 2 and 3 earn 2 and 3 on their second turns: 0 + 1 x (2 + 3)
    playing = [(1, 1.0), (2, 0.0), (3, 0.0), (1, 0.0), (2, 2.0), (3, 3.0)]
    idle = [(role, 0.0) for role, _ in playing]
    found = advantages(played(playing, idle), "advantage_alignment", gamma=1.0)
    np.testing.assert_allclose(found[[0, 3]], [1, 5], atol=1e-12)


def test_tasks_are_not_compared() -> None:
    # each task's game against its own idle episode
    game, idle = in_turns(FIRST, SECOND), NOTHING
    both = played(game, idle, in_turns([5, 5, 5], [5, 5, 5]), idle, groups=[0, 0, 1, 1])
    np.testing.assert_allclose(advantages(both, "advantage_alignment")[:6:2], ONE, atol=1e-12)


def test_a_group_of_one_and_equal_episodes_have_no_advantage() -> None:
    game = in_turns(FIRST, SECOND)
    np.testing.assert_array_equal(advantages(played(game), "advantage_alignment"), np.zeros(6))
    np.testing.assert_array_equal(advantages(played(game, game, game), "advantage_alignment"), np.zeros(18))


def test_roles_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'advantage_alignment' needs role"):
        advantages(outcomes(1, 0), "advantage_alignment")
