"""The step table keeps every row and every bit, in whatever order they come, and refuses what credit cannot use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.table import StepTable

#          row    0  1  2  3  4     two groups; episode 7 has turns in rows 3 and 1
COLUMNS: dict[str, Any] = {
    "group": [5, 3, 5, 3, 3],
    "episode": [9, 7, 8, 7, 2],
    "turn": [0, 1, 0, 0, 0],
    "anchor": [1, 2, 1, 3, 3],
    "action": [4, 5, 6, 7, 7],
    "reward": [0.5, 1.0, 0.0, 0.0, -1.0],
}


def table(**over: Any) -> StepTable:
    return StepTable.from_columns(**{**COLUMNS, **over})


def test_rows_are_sorted_by_group_episode_and_turn() -> None:
    sorted_ = table()
    assert sorted_.order.tolist() == [4, 3, 1, 2, 0]
    assert sorted_.group.tolist() == [0, 0, 0, 1, 1]
    assert sorted_.episode.tolist() == [0, 1, 1, 2, 3]
    assert sorted_.turn.tolist() == [0, 0, 1, 0, 0]
    assert sorted_.anchor.tolist() == [3, 3, 2, 1, 1]
    assert sorted_.reward.tolist() == [-1.0, 0.0, 1.0, 0.0, 0.5]
    assert sorted_.valid.all()
    assert sorted_.num_episodes == 4
    assert sorted_.first_rows.tolist() == [0, 1, 3, 4]


def test_values_go_back_into_the_callers_order() -> None:
    assert table().to_caller(table().reward).tolist() == COLUMNS["reward"]


@given(st.permutations(range(5)))
def test_the_order_of_rows_changes_nothing(rows: list[int]) -> None:
    one, two = table(), table(**{name: [column[row] for row in rows] for name, column in COLUMNS.items()})
    for name in ("group", "episode", "turn", "anchor", "action", "reward"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()
    assert two.to_caller(two.reward).tolist() == [COLUMNS["reward"][row] for row in rows]


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=6))
def test_keys_of_64_bits_keep_every_bit(keys: list[int]) -> None:
    n = len(keys)
    for given_keys in (keys, tuple(keys), np.array(keys, np.uint64)):
        built = StepTable.from_columns(
            group=np.zeros(n), episode=np.arange(n), turn=[0] * n, anchor=given_keys, action=keys, reward=[0.0] * n
        )
        assert built.anchor.tolist() == built.action.tolist() == keys


def test_negative_keys_differ_from_positive_ones() -> None:
    assert table(anchor=[-1, 1, -(1 << 63), 0, 2]).anchor[-1] == (1 << 64) - 1


def test_no_rows_are_a_table_too() -> None:
    empty = table(**{name: [] for name in COLUMNS})
    assert (len(empty), empty.num_episodes, empty.first_rows.tolist()) == (0, 0, [])


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("reward", [0.0, 0.0, np.nan, 0.0, 0.0], "reward must be finite, got .*nan.* in row 2"),
        ("reward", [0.0] * 4, "one value a row, got lengths"),
        ("turn", [0, 2, 0, 0, 0], r"turn 2 of episode 7 is not the next one \(row 1\); expected turn 1"),
        ("turn", [0, 0, 0, 0, 0], "turn 0 of episode 7 is twice there"),
        ("turn", [0, 2, 0, 1, 0], r"turn 1 of episode 7 is not the next one \(row 3\); expected turn 0"),
        ("group", [5, 3, 5, 4, 3], "episode 7 has rows in groups 3 and 4"),
        ("anchor", [1, 2, 0.5, 3, 3], "anchor must be an integer of 64 bits, got 0.5 in row 2"),
        ("anchor", [1, 2, 1 << 64, 3, 3], "anchor must be an integer of 64 bits"),
        ("anchor", ["a", "b", "c", "d", "e"], "anchor must be an integer of 64 bits, got 'a' in row 0"),
        ("group", [0.5, 3, 5, 3, 3], "group must be an integer of 64 bits, got 0.5 in row 0"),
        ("turn", [0, float("nan"), 0, 0, 0], "turn must be an integer of 64 bits, got nan in row 1"),
    ],
)
def test_what_credit_could_not_use_is_refused_by_row(column: str, values: list[Any], says: str) -> None:
    with pytest.raises(CairnError, match=says):
        table(**{column: values})


def episode(group: int, *actions: str, ending: Ending | None = None) -> Episode:
    turns = tuple(
        Turn(observation=Observation(text="", anchor=(1 << 63) * (i % 2) + i), reply_text="", action=action, reward=i)
        for i, action in enumerate(actions)
    )
    ending = ending or Ending.terminated()
    is_failed = ending.kind == "failed"
    return Episode(
        task=Task(env_id="e", task_id="t"),
        group_id=group,
        turns=turns,
        ending=ending,
        score=None if is_failed else 0.0,
        success=None if is_failed else False,
    )


def test_episodes_become_rows_in_their_order() -> None:
    built = StepTable.from_episodes([episode(2, "look"), episode(1, "look", "go")])
    assert built.order.tolist() == [1, 2, 0]
    assert built.anchor.tolist() == [0, (1 << 63) + 1, 0]
    assert built.action.tolist() == [text_key("look"), text_key("go"), text_key("look")]


def test_a_failed_episode_is_refused() -> None:
    with pytest.raises(CairnError, match="leave failed episodes out; task 't' failed"):
        StepTable.from_episodes([episode(1, ending=Ending.failed("environment", "died"))])
