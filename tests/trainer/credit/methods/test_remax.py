"""ReMax against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def greedy(episodes: StepTable, values: Sequence[float]) -> StepTable:
    return replace(episodes, value=np.array(values, np.float64))


def test_a_reward_at_the_end_less_the_greedy_one() -> None:
    # returns 1 1 1, greedy 0.4
    episodes = greedy(table([("a", 0.0), ("b", 0.0), ("c", 1.0)]), [0.4, 0.4, 0.4])
    np.testing.assert_allclose(advantages(episodes, "remax"), [0.6, 0.6, 0.6], atol=1e-12)


def test_a_step_is_credited_only_with_later_rewards() -> None:
    # returns 0.75, 0.25
    episodes = greedy(table([("a", 0.5), ("b", 0.25)]), [0.4, 0.4])
    np.testing.assert_allclose(advantages(episodes, "remax"), [0.35, -0.15], atol=1e-12)


def test_each_task_has_its_own_greedy_reward() -> None:
    episodes = greedy(outcomes(1, 1, 0, 0, groups=[0, 1, 1, 0]), [0.4, 0.4, 1.0, 1.0])  # rows by group: 1 0 | 1 0
    np.testing.assert_allclose(advantages(episodes, "remax"), [0.6, 0.0, -1.0, -0.4], atol=1e-12)


def test_an_episode_that_scores_like_the_greedy_one_has_the_advantage_0() -> None:
    np.testing.assert_array_equal(advantages(greedy(outcomes(0.3, 0.3), [0.3, 0.3]), "remax"), [0, 0])


def test_equal_episodes_of_a_task_differ_from_the_greedy_one() -> None:
    np.testing.assert_allclose(advantages(greedy(outcomes(1, 1), [0.25, 0.25]), "remax"), [0.75, 0.75], atol=1e-12)


def test_without_the_greedy_reward_it_is_refused() -> None:
    with pytest.raises(CairnError, match="'remax' needs value"):
        advantages(outcomes(1, 0), "remax")
