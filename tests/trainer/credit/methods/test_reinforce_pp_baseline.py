"""REINFORCE++-baseline against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def sized(episodes: StepTable, lengths: Sequence[int]) -> StepTable:
    return replace(episodes, length=np.array(lengths, np.float64))


def test_two_tasks_with_replies_of_different_length() -> None:
    # centred 0.75 -0.25 -0.25 -0.25 | 0.25 0.25 -0.75 0.25 with 2 4 4 2 | 3 1 2 2 tokens: sum -1 over 20, mean -0.05;
    # squares 2 x 0.64 + 10 x 0.04 + 6 x 0.09 + 2 x 0.49 = 3.2 over 19 = 0.168421, root 0.410391;
    # 0.8, -0.2, 0.3 and -0.7 over it
    episodes = sized(outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), [2, 4, 4, 2, 3, 1, 2, 2])
    first, second = [1.949359, -0.487340, -0.487340, -0.487340], [0.731010, 0.731010, -1.705689, 0.731010]
    np.testing.assert_allclose(advantages(episodes, "reinforce_pp_baseline"), first + second, atol=1e-6)


def test_every_step_has_its_episodes_advantage_and_its_own_tokens() -> None:
    # scores 1, 0: 0.5 on 1 + 1 tokens, -0.5 on 2: mean 0, var 4 x 0.25 / 3; 0.5 / 0.577350
    episodes = sized(table([("a", 0.0), ("b", 1.0)], [("c", 0.0)]), [1, 1, 2])
    np.testing.assert_allclose(
        advantages(episodes, "reinforce_pp_baseline"), [0.866025, 0.866025, -0.866025], atol=1e-6
    )


# A group of one (2 tokens) and one of two (1 and 3): 0, 0.5, -0.5; mean -1/6, squares 2/36 + 16/36 + 3 x 4/36 = 30/36
# over 5 = 1/6, root 0.408248
@pytest.mark.parametrize(
    ("epsilon", "expected"), [(1e-8, [0.408248, 1.632993, -0.816497]), (5 / 6, [1 / 6, 2 / 3, -1 / 3])]
)
def test_a_group_of_one_is_moved_by_the_batchs_mean(epsilon: float, expected: list[float]) -> None:
    episodes = sized(outcomes(7, 1, 0, groups=[0, 1, 1]), [2, 1, 3])
    np.testing.assert_allclose(advantages(episodes, "reinforce_pp_baseline", epsilon=epsilon), expected, atol=1e-6)


def test_a_step_without_tokens_does_not_count_and_has_no_advantage() -> None:
    # tokens 1 and 3 of the second group: mean -0.25, squares 0.5625 + 3 x 0.0625 over 3 = 0.25, root 0.5
    episodes = sized(outcomes(7, 1, 0, groups=[0, 1, 1]), [0, 1, 3])
    np.testing.assert_allclose(advantages(episodes, "reinforce_pp_baseline"), [0, 1.5, -0.5], atol=1e-6)


def test_a_batch_of_one_episode_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(sized(outcomes(7), [5]), "reinforce_pp_baseline"), [0])


def test_equal_rewards_give_no_advantage() -> None:
    found = advantages(sized(outcomes(0.3, 0.3, 0.3), [1, 5, 2]), "reinforce_pp_baseline")
    np.testing.assert_array_equal(found, np.zeros(3))


def test_without_lengths_it_is_refused() -> None:
    with pytest.raises(CairnError, match="'reinforce_pp_baseline' needs length"):
        advantages(outcomes(1, 0), "reinforce_pp_baseline")
