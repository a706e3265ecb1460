"""The polychromic objective against the worked example: scores 1 1 0 1, outcomes a a b c, sets of two neighbours.

Sets 12, 23, 34, 41 are worth .5 (one outcome of two), .5, .5 and 1; mean .625: -.125, -.125, -.125, .375.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages


def episodes(
    scores: Sequence[float],
    outcome: Sequence[int],
    *,
    turns: int = 1,
    groups: Sequence[int] | None = None,
    **columns: Any,  # Any: optional columns of the table
) -> StepTable:
    """Return the table of episodes of `turns` steps that earn their score at the last."""
    n = len(scores)
    last = np.tile(np.arange(turns) == turns - 1, n)
    return StepTable.from_columns(
        group=np.repeat([0] * n if groups is None else groups, turns), episode=np.repeat(range(n), turns),
        turn=np.tile(range(turns), n), anchor=range(n * turns), action=range(n * turns),
        reward=np.repeat(scores, turns) * last,
        **{"channels": {"outcome": np.repeat(outcome, turns)}, "value": np.zeros(n * turns), **columns},
    )  # fmt: skip


def test_the_worked_example() -> None:
    # Each episode is in two sets: (12, 41), (12, 23), (23, 34), (34, 41)
    found = advantages(episodes([1, 1, 0, 1], [7, 7, 8, 9]), "polychromic", set_size=2, sets="windows")
    np.testing.assert_allclose(found, [0.125, -0.125, -0.125, 0.125], atol=1e-12)


def test_by_default_all_subsets_count() -> None:
    # 12 .5, 13 .5, 14 1, 23 .5, 24 1, 34 .5: mean 2/3; episode 1: (.5 + .5 + 1) / 3 - 2/3 = 0
    found = advantages(episodes([1, 1, 0, 1], [7, 7, 8, 9]), "polychromic", set_size=2)
    np.testing.assert_allclose(found, [0, 0, 0.5 - 2 / 3, 2.5 / 3 - 2 / 3], atol=1e-12)


def test_sets_of_four_by_default() -> None:
    # Five episodes: the set without the failure is worth 1 x 1/4, the four others .75 x 2/4 = .375; mean .35.
    # The failure is in four of .375; the others in one of .25 and three of .375: .34375.
    found = advantages(episodes([1, 1, 1, 1, 0], [0, 0, 0, 0, 1]), "polychromic")
    np.testing.assert_allclose(found, [-0.00625] * 4 + [0.025], atol=1e-12)


@pytest.mark.parametrize("sets", ["all", "windows"])
def test_a_group_of_a_single_set_has_no_advantage(sets: str) -> None:
    for size in (1, 2, 4):
        found = advantages(episodes([1, 0, 0, 0][:size], [1, 2, 3, 4][:size]), "polychromic", sets=sets)
        np.testing.assert_allclose(found, np.zeros(size), atol=1e-12)


def test_the_same_outcome_in_two_groups_is_two() -> None:
    table = episodes([1, 1, 0, 1] * 2, [7, 7, 8, 9] * 2, groups=[0] * 4 + [1] * 4)
    found = advantages(table, "polychromic", set_size=2, sets="windows")
    np.testing.assert_allclose(found, [0.125, -0.125, -0.125, 0.125] * 2, atol=1e-12)


def test_steps_beyond_the_window_have_gae() -> None:
    # Three steps, window 2. Last step: 1 - .25, 0 - .25
    table = episodes([1, 1, 0, 1], [7, 7, 8, 9], turns=3, value=[0.25] * 12)
    found = advantages(table, "polychromic", set_size=2, sets="windows", window=2).reshape(4, 3)
    np.testing.assert_allclose(found[:, :2], np.repeat([[0.125], [-0.125], [-0.125], [0.125]], 2, 1), atol=1e-12)
    np.testing.assert_allclose(found[:, 2], [0.75, 0.75, -0.25, 0.75], atol=1e-12)


def test_gae_of_a_truncated_episode_bootstraps_from_its_final_value() -> None:
    # .5 x .5 + .8 x .25 lambda-weighted: last step .5 x .6 - .25 = .05; first .5 x .25 - .25 + .4 x .05 = -.105
    table = episodes([0], [0], turns=2, value=[0.25] * 2, final_value=[0.6] * 2, truncated=[True] * 2)
    found = advantages(table, "polychromic", window=0, gamma=0.5, lam=0.8)
    np.testing.assert_allclose(found, [-0.105, 0.05], atol=1e-12)


def test_the_window_begins_after_the_last_shared_node() -> None:
    # Node 1 is shared: GAE there (gamma, lambda 1: the outcome); one step of window, then GAE again.
    node = [1, 10, 11, 1, 20, 21, 1, 30, 31, 1, 40, 41]
    table = episodes([1, 1, 0, 1], [7, 7, 8, 9], turns=3, node=node)
    found = advantages(table, "polychromic", set_size=2, sets="windows", window=1, lam=1.0).reshape(4, 3)
    np.testing.assert_allclose(found, [[1, 0.125, 1], [1, -0.125, 1], [0, -0.125, 0], [1, 0.125, 1]], atol=1e-12)


def test_too_many_sets_are_refused() -> None:
    table = episodes([0] * 40, [0] * 40)
    with pytest.raises(CairnError, match=r"at most 20000 sets of 4 in a group, got 91390 of 40 episodes; take sets="):
        advantages(table, "polychromic")
    assert len(advantages(table, "polychromic", sets="windows")) == 40


def test_outcomes_and_values_are_needed() -> None:
    table = episodes([1, 0], [1, 2], channels={"other": [1, 2]})
    with pytest.raises(CairnError, match=r"a channel 'outcome', got \['other'\]"):
        advantages(table, "polychromic")
    with pytest.raises(CairnError, match="credit 'polychromic' needs value"):
        advantages(episodes([1, 0], [1, 2], value=None), "polychromic")
