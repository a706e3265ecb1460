"""M-GRPO: roles compared with themselves. Worked by hand: three episodes of a main agent (0) and a sub-agent (1).

A: main, sub, sub, main, score 1. B: main, sub, score 0. C: main alone, score .5. The last row of each earns the score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, played

Rows = Sequence[tuple[int, float]]  # role and reward
A: Rows = [(0, 0.0), (1, 0.0), (1, 0.25), (0, 0.75)]
B: Rows = [(0, 0.0), (1, 0.0)]
C: Rows = [(0, 0.5)]


def test_each_role_is_compared_over_the_episodes_in_which_it_acted() -> None:
    # main: 1, 0, .5, mean .5, std .5: 1, -1, 0. sub: 1, 0, mean .5, std .707107: +-.707107. A's two calls count once.
    found = advantages(played(A, B, C), "m_grpo")
    np.testing.assert_allclose(found, [1, 0.707107, 0.707107, 1, -1, -0.707107, 0], atol=3e-6)


def test_roles_by_their_own_rewards() -> None:
    # main: .75, 0, .5, mean 5/12. sub: .25, 0, mean .125.
    found = advantages(played(A, B, C), "m_grpo", reward="own", normalize="none")
    np.testing.assert_allclose(found, [1 / 3, 0.125, 0.125, 1 / 3, -5 / 12, -0.125, 1 / 12], atol=1e-12)


def test_epsilon_is_added_to_the_deviation() -> None:
    found = advantages(played(A, B, C), "m_grpo", epsilon=0.5)
    np.testing.assert_allclose(found[0], 0.5, atol=1e-12)


def test_a_role_that_acted_in_one_episode_has_no_advantage() -> None:
    # main: +-.707107
    found = advantages(played(A, C), "m_grpo")
    np.testing.assert_allclose(found, [0.707107, 0, 0, 0.707107, -0.707107], atol=3e-6)


def test_a_role_without_spread_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(played(B, B), "m_grpo"), np.zeros(4))


def test_the_same_role_in_two_tasks_is_not_compared() -> None:
    found = advantages(played(C, B, A, C, groups=[0, 0, 1, 1]), "m_grpo", normalize="none")
    np.testing.assert_allclose(found, [0.25, -0.25, 0, 0.25, 0, 0, 0.25, -0.25], atol=1e-12)


def test_one_role_is_grpo() -> None:
    episodes = played([(4, 0.0), (4, 1.0)], [(4, 0.0)], [(4, 0.5)])
    np.testing.assert_allclose(advantages(episodes, "m_grpo"), advantages(episodes, "grpo"), atol=1e-12)


def test_roles_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'm_grpo' needs role"):
        advantages(outcomes(1, 0), "m_grpo")
