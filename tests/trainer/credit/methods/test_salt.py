"""SALT against the worked example: A a1/o1 a2/o2 a3/o3 solved, B a1/o1 a2/o2 a4/o4 not, C a1/o1 a5/o5 a2/o2 not.

Base advantages: mean 1/3, std (ddof 1) sqrt(1/3) = 0.577350: A (2/3) / 0.577350 = 1.154699, B and C -0.577349.
Rows: A0 A1 A2 B0 B1 B2 C0 C1 C2, and C3 where C continues.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.keys import text_key
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table

Steps = Sequence[tuple[str, str]]  # action and the observation after it
A, B, C = ([("a1", "o1"), ("a2", "o2"), ("a3", "o3")], [("a1", "o1"), ("a2", "o2"), ("a4", "o4")],
           [("a1", "o1"), ("a5", "o5"), ("a2", "o2")])  # fmt: skip
HIGH, LOW = 1.154699, -0.577349


def played(*episodes: tuple[Steps, float], groups: Sequence[int] | None = None) -> StepTable:
    """Return the table of (steps, score) episodes that start in one state; the last step earns the score."""
    rows = [(e, t, a, o) for e, (steps, _) in enumerate(episodes) for t, (a, o) in enumerate(steps)]
    return StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, *_ in rows],
        episode=[e for e, *_ in rows],
        turn=[t for _, t, _, _ in rows],
        anchor=[text_key(episodes[e][0][t - 1][1] if t else "root") for e, t, _, _ in rows],
        action=[text_key(a) for *_, a, _ in rows],
        next_anchor=[text_key(o) for *_, o in rows],
        reward=[episodes[e][1] * (t == len(episodes[e][0]) - 1) for e, t, _, _ in rows],
    )


def test_the_worked_example() -> None:
    # a1 is common to all: (1.154699 - 0.577349 - 0.577349) / 3 = 0. a2 after a1 to A and B:
    # (1.154699 - 0.577349) / 2 = 0.288675. The others are taken once; C's a2 comes after another state.
    found = advantages(played((A, 1.0), (B, 0.0), (C, 0.0)), "salt")
    np.testing.assert_allclose(found, [0, 0.288675, HIGH, 0, 0.288675, LOW, 0, LOW, LOW], atol=2e-6)


@pytest.mark.parametrize(("history", "merged"), [(1, (HIGH + LOW) / 2), (3, None)])
def test_a_short_history_merges_paths_again(history: int, merged: float | None) -> None:
    # C continues with a3/o3 after a2/o2, as A does: one pair back the two are alike, three pairs back they are not.
    found = advantages(played((A, 1.0), (B, 0.0), ([*C, ("a3", "o3")], 0.0)), "salt", history=history)
    np.testing.assert_allclose(found[[2, 9]], [HIGH, LOW] if merged is None else [merged, merged], atol=2e-6)


def test_without_history_an_edge_is_state_action_and_next_state() -> None:
    # C's a2 sets out from o5 and A's from o1, so they stay apart; their a3 both lead from o2 to o3.
    found = advantages(played((A, 1.0), (B, 0.0), ([*C, ("a3", "o3")], 0.0)), "salt", key="edge")
    np.testing.assert_allclose(found, [0, 0.288675, 0.288675, 0, 0.288675, LOW, 0, LOW, LOW, 0.288675], atol=2e-6)


def test_leave_one_out_base() -> None:
    # 1 - 0 = 1; 0 - (1 + 0) / 2 = -0.5 twice; a2 of A and B: (1 - 0.5) / 2
    found = advantages(played((A, 1.0), (B, 0.0), (C, 0.0)), "salt", base="rloo")
    np.testing.assert_allclose(found, [0, 0.25, 1, 0, 0.25, -0.5, 0, -0.5, -0.5], atol=1e-12)


def test_base_without_the_deviation() -> None:
    # 2/3 and -1/3; a2 of A and B: 1/6
    found = advantages(played((A, 1.0), (B, 0.0), (C, 0.0)), "salt", normalize="none")
    np.testing.assert_allclose(found, [0, 1 / 6, 2 / 3, 0, 1 / 6, -1 / 3, 0, -1 / 3, -1 / 3], atol=1e-12)


def test_epsilon_is_added_to_the_deviation() -> None:
    found = advantages(played((A, 1.0), (B, 0.0), (C, 0.0)), "salt", epsilon=1.0)
    np.testing.assert_allclose(found[2], 2 / 3 / (1.0 + np.sqrt(1 / 3)), atol=1e-12)


def test_every_time_that_an_edge_is_taken_counts() -> None:
    # A takes the loop twice, B once: (0.5 + 0.5 - 0.5) / 3 = 1/6 on each.
    loop = ("wait", "s")
    twice = StepTable.from_columns(
        group=[0] * 5, episode=[0, 0, 0, 1, 1], turn=[0, 1, 2, 0, 1], anchor=[text_key("s")] * 5,
        action=[text_key(a) for a in (loop[0], loop[0], "win", loop[0], "lose")],
        next_anchor=[text_key(o) for o in ("s", "s", "end", "s", "end")], reward=[0, 0, 1, 0, 0],
    )  # fmt: skip
    found = advantages(twice, "salt", key="edge", normalize="none")
    np.testing.assert_allclose(found, [1 / 6, 1 / 6, 0.5, 1 / 6, -0.5], atol=1e-12)


def test_the_sum_over_rows_is_that_of_the_base() -> None:
    episodes = played((A, 1.0), (B, 0.0), (A, 0.25), (C, 0.0), ([*C, ("a3", "o3")], 0.5))
    merged, base = advantages(episodes, "salt", history=1), advantages(episodes, "grpo")
    assert np.abs(merged - base).max() > 0.1
    np.testing.assert_allclose(merged.sum(), base.sum(), atol=1e-12)


def test_without_a_common_edge_it_is_the_base() -> None:
    episodes = outcomes(1, 0, 0, 0)
    np.testing.assert_array_equal(advantages(episodes, "salt"), advantages(episodes, "grpo"))


def test_a_step_that_was_cut_short_is_merged_with_no_other() -> None:
    # One state and one action in three episodes; a budget cut the second and the third, so where they led is not known.
    cut = StepTable.from_columns(
        group=[0] * 3, episode=[0, 1, 2], turn=[0] * 3, anchor=[5] * 3, action=[7] * 3, reward=[1, 0, 0.5],
        truncated=[False, True, True],
    )  # fmt: skip
    np.testing.assert_allclose(advantages(cut, "salt", normalize="none"), [0.5, -0.5, 0.0], atol=1e-12)


def test_equal_steps_of_two_tasks_are_two_edges() -> None:
    # A's last step is worth .5 in the first task and -.5 in the second
    episodes = played((A, 1.0), (B, 0.0), (A, 4.0), (B, 5.0), groups=[0, 0, 1, 1])
    found = advantages(episodes, "salt", normalize="none")
    np.testing.assert_allclose(found, [0, 0, 0.5, 0, 0, -0.5, 0, 0, -0.5, 0, 0, 0.5], atol=1e-12)


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(table([("a", 0.0), ("b", 1.0)]), "salt"), np.zeros(2))


def test_a_group_without_spread_has_no_advantage() -> None:
    found = advantages(played((A, 0.1 + 0.2), (B, 0.1 + 0.2), (C, 0.1 + 0.2)), "salt")
    np.testing.assert_array_equal(found, np.zeros(9))
