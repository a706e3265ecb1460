"""The step table keeps every row and every bit, in any order of rows, and rejects columns that credit cannot use."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages

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


def test_a_table_needs_an_episode() -> None:
    with pytest.raises(CairnError, match="expected at least one episode, got no rows"):
        table(**{name: [] for name in COLUMNS})


def test_omitted_columns_are_filled_in() -> None:
    built = table()
    assert built.trained.all()
    assert not built.truncated.any()
    assert not built.is_deterministic
    # by episode 2, 7, 8, 9: rewards sum to -1, 1, 0, 0.5; two episodes solved, one step of two
    assert built.success.tolist() == [False, True, True, False, True]
    assert built.is_last.tolist() == [True, False, True, True, True]
    assert (built.channels, built.value, built.role, built.num_unscorable) == ({}, None, None, 0)


def test_the_next_anchor_is_that_of_the_next_step_or_of_the_end() -> None:
    built = table()
    assert built.next_anchor[1] == 2  # episode 7 goes from 3 to 2
    lost, won = built.next_anchor[[0, 3]], built.next_anchor[[2, 4]]
    assert lost[0] == lost[1] != won[0] == won[1]
    assert built.knows_next.all()


def test_the_next_state_is_unknown_after_an_episode_cut_by_a_budget() -> None:
    built = table(truncated=[True, False, True, False, False])
    assert built.truncated.tolist() == [False, False, False, True, True]
    assert built.knows_next.tolist() == [True, True, True, False, False]
    assert len({*built.next_anchor[3:].tolist(), *built.next_anchor[:3].tolist()}) == 5


def test_the_state_after_the_last_step_may_be_given() -> None:
    built = table(next_anchor=[11, 12, 13, 2, 14], truncated=[True, False, True, False, False])
    assert built.next_anchor.tolist() == [14, 2, 12, 13, 11]
    assert built.knows_next.all()


def test_an_unscorable_episode_is_left_out_and_counted() -> None:
    built = table(reward=[0.5, np.nan, 0.0, 0.0, -1.0], allow_unscorable=True, value=[1, np.inf, 3, 4, 5])
    assert (built.num_unscorable, built.num_episodes, len(built)) == (1, 3, 3)
    assert built.order.tolist() == [4, 2, 0]
    assert built.value is not None
    assert built.value.tolist() == [5, 3, 1]
    assert built.to_caller(built.reward).tolist() == [0.5, 0.0, 0.0, 0.0, -1.0]  # its rows: 0


def test_a_table_needs_an_episode_that_could_be_scored() -> None:
    with pytest.raises(CairnError, match="at least one episode that could be scored"):
        table(reward=[np.nan] * 5, allow_unscorable=True)


def test_optional_columns_are_sorted_like_the_others() -> None:
    built = table(channels={"b": [1, 2, 3, 4, 5], "a": [0, 0, 0, 0, 9]}, value=[1, 2, 3, 4, 5], role=[1, 2, 3, 4, 5])
    assert built.channels["a"].tolist() == [9, 0, 0, 0, 0]
    assert built.channels["b"].tolist() == [5, 4, 2, 3, 1]
    assert built.value is not None
    assert built.value.tolist() == [5, 4, 2, 3, 1]
    assert built.role is not None
    assert built.role.tolist() == [5, 4, 2, 3, 1]


MASK = [False, False, True, False, False]
FLAGS = ("valid", "success", "truncated", "trained", "past", "knows_next")
NO_FLAGS: dict[str, tuple[Any, str]] = {  # of row 2
    "NaN": ([False, False, np.nan, False, False], "nan"),
    "None": ([False, False, None, False, False], "None"),
    "a text": ([False, False, "False", False, False], "'False'"),
    "a digit": (["0", "0", "1", "0", "0"], "'0'"),
    "2": ([0, 0, 2, 0, 0], "2"),
    "-1": (np.array([0, 0, -1, 0, 0]), "-1"),
    "0.5": (np.array([0.0, 0.0, 0.5, 0.0, 0.0]), "0.5"),
    "NaT": (np.array([False, False, np.datetime64("NaT"), False, False], object), "NaT"),
    "a list": ([False, False, [], False, False], r"\[\]"),
    "masked": (np.ma.MaskedArray([False] * 5, mask=MASK), "masked"),
}


@pytest.mark.parametrize("column", FLAGS)
@pytest.mark.parametrize("kind", NO_FLAGS)
def test_a_flag_must_be_true_or_false(column: str, kind: str) -> None:
    values, shown = NO_FLAGS[kind]
    row = 0 if kind == "a digit" else 2
    with pytest.raises(CairnError, match=rf"StepTable: {column} .*row {row}.*") as refused:
        table(**{column: values})
    assert re.search(shown, str(refused.value))


@pytest.mark.parametrize("kind", [list, np.array, lambda x: np.array(x, object), np.ma.MaskedArray])
def test_flags_may_be_zeros_and_ones_in_any_container(kind: Callable[[Any], Any]) -> None:
    for values in ([1, 0, 1, 0, 1], [1.0, 0.0, 1.0, 0.0, 1.0], [True, False, True, False, True]):
        assert table(valid=kind(values)).valid.tolist() == table(valid=[True, False, True, False, True]).valid.tolist()


def test_a_missing_value_of_pandas_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    known = pandas.Series([True, False, True, False, True], dtype="boolean")
    assert table(valid=known).valid.tolist() == table(valid=list(known)).valid.tolist()
    known[2] = pandas.NA
    with pytest.raises(CairnError, match="StepTable: valid must be True or False, got <NA> in row 2"):
        table(valid=known)
    with pytest.raises(CairnError, match="StepTable: reward must be finite, got nan in row 2"):
        table(reward=pandas.Series([0, 0, pandas.NA, 0, 0], dtype="Int64"))


@pytest.mark.parametrize("column", ["anchor", "group", "turn", "reward", "value"])
def test_a_masked_value_is_missing(column: str) -> None:
    with pytest.raises(CairnError, match=rf"StepTable: {column} .*row 2"):
        table(**{column: np.ma.MaskedArray([0] * 5, mask=MASK)})


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("reward", [0.0, 0.0, None, 0.0, 0.0], "reward must be finite, got nan in row 2"),
        ("reward", [0.0, 0.0, "much", 0.0, 0.0], "reward must be a number, got 'much' in row 2"),
        ("reward", [[0.0], [0.0, 1.0]], "reward must be a number|one number a row"),
        ("reward", [0.0, 0.0, np.nan, 0.0, 0.0], "reward must be finite, got .*nan.* in row 2"),
        ("reward", [0.0] * 4, "one value a row, got lengths"),
        ("turn", [0, 2, 0, 0, 0], r"turn 2 of episode 7 is not the next one \(row 1\); expected turn 1"),
        ("turn", [0, 0, 0, 0, 0], "turn 0 of episode 7 is twice there"),
        ("turn", [0, 2, 0, 1, 0], r"turn 1 of episode 7 is not the next one \(row 3\); expected turn 0"),
        ("group", [5, 3, 5, 4, 3], "episode 7 has rows in groups 3 and 4"),
        ("anchor", [1, 2, 0.5, 3, 3], "anchor must be an integer of 64 bits, got 0.5 in row 2"),
        ("anchor", [1, 2, 1 << 64, 3, 3], "anchor must be an integer of 64 bits"),
        ("anchor", ["a", 2, "c", "d", "e"], "anchor must be all texts or all integers, got 2 in row 1"),
        ("group", [0.5, 3, 5, 3, 3], "group must be an integer of 64 bits, got 0.5 in row 0"),
        ("reward", [0.0, 0.0, np.nan, 0.0, 0.0], "pass allow_unscorable=True"),
        ("value", [0, 0, 0, np.inf, 0], "value must be finite, got inf in row 3"),
        ("channels", {"tests": [0, 0, np.inf, 0, 0]}, "channel 'tests' must be finite, got inf in row 2"),
        ("channels", {"tests": [0]}, "one value a row, got lengths .*channel 'tests'.: 1"),
        ("success", [False, True, True, False, True], r"episode 7 has both True and False \(row 1\)"),
        ("truncated", [False, True, True, False, True], "truncated is a fact of the episode; episode 7"),
        ("next_anchor", [0, 0, 0, 9, 0], "must be the anchor of the episode's next turn, 2, got 9 in row 3"),
        ("anchor", [1, None, 1, 3, 3], "anchor must be an integer of 64 bits, got None in row 1"),
        ("node", [1, 3, 2, 3, 4], r"has one turn and one parent node; 3 does not \(rows 3 and 1\)"),
        ("turn", [0, float("nan"), 0, 0, 0], "turn must be an integer of 64 bits, got nan in row 1"),
    ],
)
def test_columns_that_credit_cannot_use_are_rejected_by_row(column: str, values: list[Any], says: str) -> None:
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


def test_an_episodes_facts_become_columns() -> None:
    cut = replace(
        episode(1, "look", "go", ending=Ending.truncated("turns")),
        final=Observation(text="", anchor=77),
        success=True,
    )
    built = StepTable.from_episodes([cut, episode(1, "look")])
    assert built.success.tolist() == [True, True, False]
    assert built.truncated.tolist() == [True, True, False]
    assert built.next_anchor[:2].tolist() == [(1 << 63) + 1, 77]
    assert built.logprob is None  # these turns have no logprobs


def test_replies_have_lengths_and_mean_logprobs() -> None:
    ids, logprobs = np.array([1, 2, 3], np.int32), np.array([-1.0, -2.0, -3.0], np.float32)
    first = episode(1, "look")
    turn = replace(first.turns[0], reply_ids=ids, reply_logprobs=logprobs)
    built = StepTable.from_episodes([replace(first, turns=(turn,))])
    assert built.length is not None
    assert built.length.tolist() == [3]
    assert built.logprob is not None
    assert built.logprob.tolist() == [-2.0]


def test_turns_may_have_channels_that_others_do_not() -> None:
    one, two = episode(1, "look"), episode(1, "go")
    one = replace(one, turns=(replace(one.turns[0], channels={"tests": 0.5, "style": 0.1}),))
    built = StepTable.from_episodes([two, one])
    np.testing.assert_array_equal(built.channels["tests"], [np.nan, 0.5])
    assert built.channel("tests", absent=0.0).tolist() == [0.0, 0.5]
    with pytest.raises(CairnError, match="every row needs the channel 'tests' here; row 0 has none"):
        built.channel("tests")
    built = StepTable.from_episodes([one])
    assert {name: x.tolist() for name, x in built.channels.items()} == {"tests": [0.5], "style": [0.1]}


def test_parts_of_the_reward_are_channels() -> None:
    channels = {"won": [1, 2, 3, 4, 5], "tests": [0, 0, 0, 0, 9]}
    assert table(channels=channels, parts=["won"]).parts == ("won",)
    assert table(channels=channels).parts == ()
    with pytest.raises(
        CairnError, match=r"parts of the reward must be channels; got \['win'\], known: \['tests', 'won'\]"
    ):
        table(channels=channels, parts=["win"])


def test_parts_of_episodes_are_those_that_the_environment_declares() -> None:
    one = episode(1, "look")
    one = replace(one, turns=(replace(one.turns[0], channels={"tests": 0.5, "won": 0.1}),))
    assert StepTable.from_episodes([one], parts=("won",)).parts == ("won",)
    with pytest.raises(CairnError, match=r"got \['won'\], known: \[\]"):
        StepTable.from_episodes([episode(1, "look")], parts=("won",))


def test_an_unrecorded_end_of_an_episode_is_unknown() -> None:
    cut = episode(1, "look", "go", ending=Ending.truncated("turns"))
    assert StepTable.from_episodes([cut]).knows_next.tolist() == [True, False]
    assert StepTable.from_episodes([replace(cut, final=cut.turns[0].observation)]).knows_next.all()


def test_other_anchors_may_be_compared_by() -> None:
    built = StepTable.from_episodes([episode(1, "look", "go"), episode(1, "go")], anchor=[5, 6, 5])
    assert built.anchor.tolist() == [5, 6, 5]
    assert built.next_anchor[0] == 6
    assert built.knows_next.all()  # both episodes were over


def test_a_failed_episode_is_refused() -> None:
    with pytest.raises(CairnError, match="leave failed episodes out; task 't' failed"):
        StepTable.from_episodes([episode(1, ending=Ending.failed("environment", "died"))])


def test_texts_are_ids_and_keys() -> None:
    numbers = StepTable.from_columns(
        group=[0, 0, 0, 1], episode=[0, 0, 1, 2], turn=[0, 1, 0, 0], anchor=[5, 6, 5, 5], action=[1, 2, 1, 1],
        next_anchor=[6, 9, 9, 9], reward=[0, 1, 0, 1],
    )  # fmt: skip
    texts = StepTable.from_columns(
        group=["a", "a", "a", "b"], episode=["x", "x", "y", "z"], turn=[0, 1, 0, 0],
        anchor=np.array(["start", "hall", "start", "start"]), action=["go", "take", "go", "go"],
        next_anchor=["hall", "end", "end", "end"], reward=[0, 1, 0, 1],
    )  # fmt: skip
    for name in ("group", "episode", "turn", "reward", "success", "order"):
        assert getattr(texts, name).tolist() == getattr(numbers, name).tolist()
    for name in ("anchor", "action", "next_anchor"):
        found, expected = getattr(texts, name).tolist(), getattr(numbers, name).tolist()
        assert [found.index(x) for x in found] == [expected.index(x) for x in expected]
    assert advantages(texts, "grpo").tolist() == advantages(numbers, "grpo").tolist()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"anchor": ["a", 1]}, "anchor must be all texts or all integers, got 1 in row 1"),
        ({"episode": [0, "x"]}, "episode must be all texts or all integers, got 0 in row 0"),
        ({"turn": ["0", "1"]}, "turn must be an integer of 64 bits, got '0' in row 0"),
        ({"episode": ["x", "x"], "turn": [0, 2]}, "turn 2 of episode 'x' is not the next one"),
        ({"episode": ["x", "x"], "group": ["a", "b"]}, "episode 'x' has rows in groups 'a' and 'b'"),
        ({"episode": ["x", "x"], "success": [True, False]}, "episode 'x' has both True and False"),
    ],
)
def test_texts_that_do_not_fit_are_refused_by_their_names(changes: dict[str, Any], why: str) -> None:
    columns: dict[str, Any] = {
        "group": [0, 0], "episode": [0, 0], "turn": [0, 1], "anchor": [1, 2], "action": [1, 2], "reward": [0, 1],
    }  # fmt: skip
    with pytest.raises(CairnError, match=re.escape(why)):
        StepTable.from_columns(**{**columns, **changes})


def test_the_repr_of_a_table_shows_its_size_and_columns() -> None:
    table = StepTable.from_columns(
        group=[0, 0, 1, 1], episode=[0, 0, 1, 2], turn=[0, 1, 0, 0], anchor=[1, 2, 1, 1], action=[1, 2, 1, 2],
        reward=[0, 1, 0, np.nan], length=[3, 4, 5, 6], channels={"tests": [0, 1, 0, 0]}, allow_unscorable=True,
    )  # fmt: skip
    assert repr(table) == (
        "StepTable(3 steps of 2 episodes in 2 groups; columns: length; channels: tests; 1 episodes left out)"
    )


ASKED = {"role": "user", "content": "Refund the tea."}
CALLED = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "find", "arguments": "{}"}}]}
FOUND = {"role": "tool", "content": "tea 12"}
PAID = {"role": "assistant", "content": "Paid."}
GAVE_UP = {"role": "assistant", "content": "No."}


def test_a_table_of_conversations() -> None:
    table = StepTable.from_messages(
        [[ASKED, CALLED, FOUND, PAID], [ASKED, CALLED, FOUND, GAVE_UP], [ASKED, GAVE_UP]],
        group=["tea"] * 3,
        reward=[1.0, 0.0, [0.25]],
    )
    assert table.episode.tolist() == [0, 0, 1, 1, 2]
    assert table.reward.tolist() == [0.0, 1.0, 0.0, 0.0, 0.25]
    assert table.success.tolist() == [True, True, False, False, True]
    anchor, action = table.anchor.tolist(), table.action.tolist()
    assert anchor[0] == anchor[2] == anchor[4] != anchor[1] == anchor[3]
    assert action[0] == action[2] != action[4] == action[3] != action[1]
    own = StepTable.from_messages([[ASKED, CALLED, FOUND, PAID]], group=[0], reward=[1], anchor=[["start", "listed"]])
    assert own.anchor[0] != own.anchor[1]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"episodes": [[ASKED]]}, "episode 0 has no message of the assistant"),
        ({"reward": [1.0, 1.0]}, "reward needs one value an episode, 1, got 2"),
        ({"reward": [[1.0]]}, "episode 0 has 2 steps, and reward has 1 values for it"),
        ({"anchor": [["a"]]}, "episode 0 has 2 steps, and anchor has 1 values for it"),
        ({"success": []}, "success needs one value an episode, 1, got 0"),
        ({"truncated": []}, "truncated needs one value an episode, 1, got 0"),
    ],
)
def test_conversations_that_do_not_fit_are_refused(changes: dict[str, Any], why: str) -> None:
    arguments: dict[str, Any] = {"episodes": [[ASKED, CALLED, FOUND, PAID]], "group": [0], "reward": [1.0]}
    with pytest.raises(CairnError, match=re.escape(why)):
        StepTable.from_messages(**{**arguments, **changes})
