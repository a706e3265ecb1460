"""Tables of questions: extracted answers, scores, and rejected tables."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cairn
from cairn.core.errors import CairnError, ConfigError
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from cairn.envs.scorers import Extract, Scorer, extractor, without_thoughts, written
from tests.sampling import sampled_params

SUMS = [{"question": f"What is {a} + {b}?", "answer": a + b} for a in range(20, 30) for b in range(20, 30)]
quiz = cairn.DataEnv(SUMS, cairn.scorers.number(), extract="boxed", name="quiz", instruction="Answer in \\boxed{}.")
tries = cairn.DataEnv(SUMS, cairn.scorers.number(), extract="last_number", name="tries", turns=3)


def half(said: str, row: Mapping[str, Any]) -> tuple[float, Mapping[str, float]]:
    return (0.5, {"words": float(len(said.split()))}) if said == "maybe" else (float(said == "yes"), {"words": 1.0})


opinions = cairn.DataEnv(
    [{"question": f"Really, {n}?"} for n in range(20)],
    cairn.scorers.function(half, channels=["words"]),
    name="opinions",
    turns=2,
)


@pytest.mark.parametrize(("table", "name"), sampled_params(itertools.product(["quiz", "tries"], PROPERTIES), parts=4))
def test_the_properties_hold(table: str, name: str) -> None:
    report = check_property(name, Subject(f"{__name__}:{table}"))
    assert report.holds, report.detail


def test_an_episode() -> None:
    env = quiz()
    task = env.tasks()[3]
    text, _ = env.reset(seed=0, options={"task": task})
    assert text == "Answer in \\boxed{}.\n\nWhat is 20 + 23?"
    assert env.oracle() == "\\boxed{43}"
    text, reward, terminated, truncated, info = env.step("<think>\\boxed{43}</think> It is \\boxed{42}.")
    assert (text, reward, terminated, truncated) == ("The end.", 0.0, True, False)
    assert (info["success"], info["score"], info["channels"]) == (False, 0.0, {"answered": 1.0})


def test_several_turns_and_the_last_one_counts() -> None:
    env = tries()
    env.reset(seed=0, options={"task": env.tasks()[3]})
    assert env.step("I do not know")[0] == "There is no answer in the form that is asked for. Try again."
    text, reward, terminated, _, info = env.step("It is 42")
    assert (text, reward, terminated) == ("That is not right. Try again.", 0.0, False)
    assert "43" not in text
    text, reward, terminated, _, info = env.step("Then 43")
    assert (text, reward, terminated, info["success"], info["score"]) == ("Right.", 1.0, True, True, 1.0)


def test_scores_between_and_measurements_of_a_function() -> None:
    env = opinions()
    env.reset(seed=0, options={"task": env.tasks()[0]})
    assert env.step("maybe")[1:3] == (0.0, False)
    _, reward, terminated, _, info = env.step("maybe")
    assert (reward, terminated, info["success"], info["score"]) == (0.5, True, False, 0.5)
    assert info["channels"] == {"words": 1.0, "answered": 1.0}
    own = cairn.DataEnv([{"question": "?"}], lambda said, row: 7.0, name="own")()
    own.reset(seed=0)
    with pytest.raises(CairnError, match=r"a score must be from 0 to 1, got 7\.0"):
        own.step("x")


NUMBERS = [
    ("1,234.5", "1234.5", True),
    ("$ 3", "3", True),
    ("1.234", "1234", False),
    ("3/4", "0.75", True),
    ("-3/4", "-0.75", True),
    ("50%", "50%", True),
    ("50", "50%", False),
    ("50%", "50", True),
    ("1e3", "1000", True),
    ("3 or 10", "10", False),
    ("nan", "1", False),
    ("inf", "1", False),
    ("-5", "5", False),
    ("\u22125", "-5", True),
    ("1,23", "123", False),
    ("\\frac{1}{2}", "0.5", True),
    ("-\\frac{1}{2}", "-0.5", True),
    ("12 apples", "12", True),
    ("1/0", "1", False),
    ("0.3333", "1/3", False),
    ("1.0000001", "1", True),
    ("1.001", "1", False),
    ("", "1", False),
    ("x", "1", False),
]
CHOICES = [
    ("B", "B", True),
    ("b", "B", True),
    ("(b)", "B", True),
    ("**B**", "B", True),
    ("B.", "B", True),
    (" B\n", "B", True),
    ("The answer is B.", "B", True),
    ("answer: (C)", "C", True),
    ("\\boxed{B}", "B", True),
    ("Answer: **D**", "D", True),
    ("$\\boxed{\\text{C}}$", "C", True),
    ("Antwort: D", "D", True),
    ("Option B", "B", True),
    ("the answer is b.", "B", True),
    ("Answer: A, no, answer: B", "B", True),
    ("A cat is here", "A", False),
    ("I think a", "A", False),
    ("The answer is a dog", "A", False),
    ("BAD", "B", False),
    ("Both A and B", "A", False),
    ("", "A", False),
    ("Answer: E", "A", False),
    ("C because A and B are wrong", "C", False),
]
EXACT = [
    ("The Cat.", "cat", True),
    ("cat", ["dog", "cat"], True),
    ("ca t", "cat", False),
    ("a  cat", "cat", True),
    ("", "cat", False),
    ("\uff23at", "cat", True),
    ("cats", "cat", False),
]
SCORED = [
    *((cairn.scorers.number(), *row) for row in NUMBERS),
    *((cairn.scorers.choice(), *row) for row in CHOICES),
    *((cairn.scorers.exact(), *row) for row in EXACT),
    (cairn.scorers.exact(normalise=False), "Cat", "cat", False),
    (cairn.scorers.number(tol_abs=0.5), "10.4", "10", True),
    (cairn.scorers.pattern(r"id (\d+)", group=1), "id 3 then id 4", "4", True),
    (cairn.scorers.pattern(r"id (\d+)", group=1), "no", "4", False),
    (cairn.scorers.pattern(r"(a+)+b"), "a" * 60, "x", False),
]


@pytest.mark.parametrize(("scorer", "said", "gold", "is_right"), SCORED)
def test_scorers_accept_only_correct_answers(scorer: Scorer, said: str, gold: Any, is_right: bool) -> None:
    assert scorer.score(said, {}, gold) is is_right


READ: list[tuple[Extract, str, str | None]] = [
    ("boxed", "so \\boxed{\\frac{1}{2}} and \\boxed{7}", "7"),
    ("boxed", "x \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
    ("boxed", "\\boxed{\\frac{1}{2}", None),
    ("boxed", "7", None),
    ("answer", "<answer> 3 </answer><answer>4</answer>", "4"),
    ("answer", "<answer>3", None),
    ("hash", "x #### 12\ny", "12"),
    ("hash", "12", None),
    ("last_number", "a 3, then 1,200.", "1,200"),
    ("last_number", "none", None),
    ("last_line", "a\n\n b \n", "b"),
    ("last_line", "\n", None),
    ("all", " x ", "x"),
    ("all", " ", None),
    (re.compile(r"is (\w+)"), "it is this, it is that", "that"),
    (re.compile(r"\d"), "1 2", "2"),
    (re.compile("x"), "", None),
    (lambda text: text[:1] or None, "yes", "y"),
]


@pytest.mark.parametrize(("extract", "text", "found"), READ)
def test_answers_are_extracted_from_replies(extract: Extract, text: str, found: str | None) -> None:
    assert extractor(extract)(text) == found


@given(st.sampled_from(["all", "boxed", "answer", "hash", "last_number", "last_line"]), st.integers(-(10**9), 10**9))
def test_a_written_answer_is_extracted_unchanged(extract: Extract, value: int) -> None:
    assert extractor(extract)(
        f"I add.\n{written(extract, str(value))}".removeprefix("I add.\n" if extract == "all" else "")
    ) == str(value)


@given(st.text())
def test_no_reply_raises(text: str) -> None:
    for extract in ("all", "boxed", "answer", "hash", "last_number", "last_line"):
        found = extractor(extract)(without_thoughts(text))
        for scorer in (cairn.scorers.number(), cairn.scorers.choice(), cairn.scorers.exact()):
            assert found is None or scorer.score(found, {}, "3") in (True, False)


def test_a_thought_that_never_ends_holds_no_answer() -> None:
    assert without_thoughts("<think>\\boxed{1}") == ""
    assert without_thoughts("<think>a</think>b<think>c</think> d") == "b d"


def test_tables_of_every_kind(tmp_path: Path) -> None:
    from pyarrow import Table, parquet

    lines, whole, columns = tmp_path / "a.jsonl", tmp_path / "a.json", tmp_path / "a.parquet"
    lines.write_text("\n".join(map(json.dumps, SUMS)) + "\n")
    whole.write_text(json.dumps(SUMS))
    parquet.write_table(Table.from_pylist(SUMS), columns)
    found = [
        cairn.DataEnv(table, cairn.scorers.number(), name="t")().tasks() for table in (SUMS, lines, whole, columns)
    ]
    assert len(found[0]) == 100
    assert found[0] == found[1] == found[2] == found[3]


def test_ids_and_splits_do_not_depend_on_the_order() -> None:
    back = cairn.DataEnv(SUMS[::-1], cairn.scorers.number(), name="back")
    splits = [[set(kind(split=name).tasks()) for name in ("train", "test")] for kind in (quiz, back)]
    assert splits[0] == splits[1]
    assert len(splits[0][0]) + len(splits[0][1]) == 100
    assert 10 <= len(splits[0][1]) <= 30
    named = cairn.DataEnv(
        [{"q": "?", "a": 1, "key": "x"}], cairn.scorers.number(), name="n", question="q", answer="a", id="key"
    )
    assert named().tasks() == ["x"]
    own = cairn.DataEnv([{"id": 7, "question": "?", "answer": 1}], cairn.scorers.number(), name="n")
    assert own().tasks() == ["7"]


def test_a_column_split_replaces_the_hash() -> None:
    rows = [{"id": n, "question": "?", "answer": 1, "split": split} for n, split in enumerate(["hard", "test", "hard"])]
    kind = cairn.DataEnv([*rows, {"id": 3, "question": "?", "answer": 1}], cairn.scorers.number(), name="kind")
    assert kind(split="hard").tasks() == ["0", "2"]
    assert kind(split="test").tasks() == ["1"]
    assert kind().tasks() == ["0", "1", "2", "3"]
    with pytest.raises(ConfigError, match="kind has no rows in the split 'train'; its splits are all, hard, test"):
        kind(split="train")


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([], "The table has no rows"),
        ([1], "Row 0 of the table is not an object with columns: 1"),
        (
            [SUMS[0], {"question": "x", "answer": "abc"}],
            "Row 1 of the table: the answer 'abc' cannot be compared with",
        ),
        ([{"question": "x"}], r"Row 0 of the table has no column 'answer'; it has \['question'\]"),
        ([SUMS[0], SUMS[1], SUMS[0]], "Rows 0 and 2 of the table have the same id"),
        ("no-such.jsonl", "'no-such.jsonl' cannot be read"),
        ("no-such.csv", r"must be a \.jsonl, \.json or \.parquet file"),
    ],
)
def test_tables_that_are_refused(table: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        cairn.DataEnv(table, cairn.scorers.number(), name="t")


def test_answers_that_are_refused() -> None:
    for scorer, gold in ((cairn.scorers.choice(), "E"), (cairn.scorers.exact(), ""), (cairn.scorers.exact(), [])):
        with pytest.raises(ConfigError, match=r"Row 0 of the table: the answer .* cannot be compared with"):
            cairn.DataEnv([{"question": "x", "answer": gold}], scorer, name="t")
    with pytest.raises(ConfigError, match="extract: expected one of all, boxed"):
        cairn.DataEnv(SUMS, cairn.scorers.number(), name="t", extract="box")  # type: ignore[arg-type]  # the fault
