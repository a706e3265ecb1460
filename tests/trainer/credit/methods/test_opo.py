"""OPO against numbers worked out by hand."""

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


def test_one_success_in_four() -> None:
    # baseline 2 / 12
    found = advantages(sized(outcomes(1, 0, 0, 0), [2, 4, 4, 2]), "opo")
    np.testing.assert_allclose(found, [0.833333, -0.166667, -0.166667, -0.166667], atol=1e-6)


def test_each_task_has_its_own_baseline() -> None:
    # 2 / 12 and (3 + 1 + 2) / 8
    episodes = outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1])
    found = advantages(sized(episodes, [2, 4, 4, 2, 3, 1, 2, 2]), "opo")
    np.testing.assert_allclose(found, [5 / 6, -1 / 6, -1 / 6, -1 / 6, 0.25, 0.25, -0.75, 0.25], atol=1e-12)


def test_lengths_and_rewards_of_an_episodes_steps_add_up() -> None:
    # an episode of 2 tokens with 1, one of 6 with 0: baseline 2 / 8
    episodes = sized(table([("a", 0.25), ("b", 0.75)], [("c", 0.0)]), [1, 1, 6])
    np.testing.assert_allclose(advantages(episodes, "opo"), [0.75, 0.75, -0.25], atol=1e-12)


def test_an_episode_without_tokens_does_not_count() -> None:
    # baseline 1 / 4 from the other two
    found = advantages(sized(outcomes(1, 0, 8), [1, 3, 0]), "opo")
    np.testing.assert_allclose(found, [0.75, -0.25, 7.75], atol=1e-12)


def test_with_equal_lengths_it_is_dr_grpo() -> None:
    episodes = sized(outcomes(0.2, 3.0, -1.0), [7, 7, 7])
    np.testing.assert_allclose(advantages(episodes, "opo"), advantages(episodes, "dr_grpo"), atol=1e-12)


def test_without_any_token_it_is_dr_grpo() -> None:
    found = advantages(sized(outcomes(1, 0, 0, 0), [0, 0, 0, 0]), "opo")
    np.testing.assert_allclose(found, [0.75, -0.25, -0.25, -0.25], atol=1e-12)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_group_of_one_has_no_advantage(length: int) -> None:
    # the other group: baseline 2 / 3
    found = advantages(sized(outcomes(3, 1, 0, groups=[0, 1, 1]), [length, 2, 1]), "opo")
    np.testing.assert_allclose(found, [0, 1 / 3, -2 / 3], atol=1e-12)


def test_a_group_without_spread_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(sized(outcomes(0.3, 0.3, 0.3), [1, 5, 2]), "opo"), np.zeros(3))


def test_without_lengths_it_is_refused() -> None:
    with pytest.raises(CairnError, match="'opo' needs length"):
        advantages(outcomes(1, 0), "opo")
