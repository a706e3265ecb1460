"""The benchmark of training: all ways hold the same decisions and come to one gradient, and the tree computes least."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cairn.benchmarks import train
from cairn.benchmarks.train.group import CONTEXTS, ways
from cairn.benchmarks.train.steps import Measured, by_length, measure
from cairn.trainer.learner.samples import Sample

Ways = dict[str, dict[str, list[Sample]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="module")
def small(folder: Path) -> Ways:
    return ways(str(folder), 2, 4)


def test_a_transcript_has_rows_to_merge_and_a_window_has_none(small: Ways) -> None:
    counts = {context: {way: len(samples) for way, samples in found.items()} for context, found in small.items()}
    assert counts["transcript"] == {"one row a turn": 8, "merged rows": 2, "tree": 2}
    assert counts["published window"] == {"one row a turn": 8, "tree": 8}


@pytest.mark.parametrize("context", CONTEXTS)
def test_all_ways_hold_the_same_decisions(small: Ways, context: str) -> None:
    found = [
        sorted(
            (int(s.ids[place]), float(a)) for s in samples for place, a in zip(s.positions, s.advantages, strict=True)
        )
        for samples in small[context].values()
    ]
    assert found[0]
    assert all(other == found[0] for other in found)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("context", CONTEXTS)
def test_all_ways_give_one_gradient_and_the_tree_computes_least(small: Ways, context: str, folder: Path) -> None:
    found = {way: measure(str(folder), samples, way == "tree", 1) for way, samples in small[context].items()}
    norms = [measured.grad_norm for measured in found.values()]
    assert norms[0] > 1e-3
    assert norms == pytest.approx([norms[0]] * len(norms), rel=1e-3)
    tokens = {way: measured.tokens for way, measured in found.items()}
    assert tokens["one row a turn"] == sum(len(s.ids) for s in small[context]["one row a turn"])
    assert min(tokens, key=tokens.__getitem__) == "tree"


def test_rows_of_like_length_go_together_within_the_budget(small: Ways) -> None:
    rows = small["transcript"]["one row a turn"]
    lengths = [len(s.ids) for s in rows]
    chunks = list(by_length(rows, 2 * max(lengths)))
    assert sorted(i for chunk in chunks for i in chunk) == list(range(len(rows)))
    assert [lengths[i] for chunk in chunks for i in chunk] == sorted(lengths)
    assert max(sum(lengths[i] for i in chunk) for chunk in chunks) <= 2 * max(lengths)
    assert len(chunks) > 1


def measured(tokens: int, seconds: float, grad_norm: float = 1.0) -> Measured:
    return Measured(sequences=1, tokens=tokens, padding=0.0, seconds=seconds, megabytes=100.0, grad_norm=grad_norm)


def test_bars_are_against_a_row_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    by_way = {3: measured(600, 3.0), 2: measured(200, 1.0), 1: measured(100, 1.0)}  # by number of sequences
    made = {"one row a turn": [1, 1, 1], "merged rows": [1, 1], "tree": [1]}
    monkeypatch.setattr(train, "ways", lambda *_: {"c": made})
    monkeypatch.setattr(train, "measure", lambda _, samples, *__: by_way[len(samples)])
    monkeypatch.setattr(train, "in_forked_process", lambda function, *arguments: function(*arguments))
    monkeypatch.setattr(train.side_by_side, "compare", lambda _: ([], []))
    monkeypatch.setattr(train.utilisation, "rows", lambda _: [])
    rows = {row["name"]: (row["value"], row["bar"], row["holds"]) for row in train.run().rows}
    assert rows["train: c, fewer tokens than one row a turn"] == (6.0, ">= 3.0", True)
    assert rows["train: c, fewer seconds than one row a turn"] == (3.0, ">= 2.0", True)
    assert rows["train: c, fewer tokens than merged rows"] == (2.0, None, None)
    assert {row["bar"] for row in train.run(quick=True).rows} == {None, "<= 0.05"}
    by_way[2] = measured(200, 1.0, grad_norm=np.sqrt(2))
    with pytest.raises(AssertionError, match="cannot be those of one loss"):
        train.run()
