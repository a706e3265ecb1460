"""Tasks that a run is evaluated on are not trained on, unless there are no others, and then every report says so."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.agents.agent import contexts
from cairn.agents.evaluation.report import name_tasks
from cairn.core.store import RunStore
from cairn.trainer.config import load_run_config
from cairn.trainer.run.task_split import split_tasks
from cairn.trainer.sft import demonstrations
from cairn.trainer.train import train
from tests.agents.tiny import shared
from tests.trainer.test_train import DOORS, TINY

NAMES = st.lists(st.integers(0, 60).map(str), min_size=1, max_size=40, unique=True)


@given(
    training=NAMES,
    evaluation=NAMES,
    count=st.integers(1, 50),
    share=st.floats(0, 0.9),
    seed=st.integers(0, 3),
)
def test_no_task_is_both_trained_on_and_called_held_out(
    training: list[str], evaluation: list[str], count: int, share: float, seed: int
) -> None:
    split = split_tasks(training, evaluation, count=count, share=share, seed=seed)
    assert split.evaluation
    assert len(split.evaluation) <= count
    assert split.train  # something is left to train on
    both = set(split.train) & set(split.evaluation)
    assert split.training_share == pytest.approx(len(both) / len(split.evaluation))
    assert not set(split.train) & set(split.held_out)
    assert set(split.train) | set(split.held_out) >= set(training)
    assert len(training) - len(split.train) <= max(share * len(training), 1)
    assert name_tasks(split.training_share) == ("training tasks" if both else "held-out tasks")


def test_a_fifth_of_the_tasks_is_held_out_by_id() -> None:
    tasks = [f"t{i}" for i in range(10)]
    split = split_tasks(tasks, tasks, count=100, share=0.2)
    assert len(split.evaluation) == 2
    assert split.held_out == tuple(sorted(split.evaluation))
    shuffled = split_tasks(tasks[::-1], tasks[::-1], count=100, share=0.2)
    assert set(shuffled.held_out) == set(split.held_out)
    others = {split_tasks(tasks, tasks, count=100, share=0.2, seed=seed).held_out for seed in range(8)}
    assert len(others) > 1


def test_a_split_of_its_own_holds_nothing_out() -> None:
    split = split_tasks(["a", "b"], ["c", "d"], count=1, share=0.5)
    assert (split.train, split.evaluation, split.held_out) == (("a", "b"), ("c",), ("c",))


def test_tasks_that_only_the_evaluation_lists_are_evaluated_first() -> None:
    split = split_tasks(["a", "b", "c", "d"], ["a", "b", "c", "d", "e"], count=1, share=0.5)
    assert split.evaluation == ("e",)
    assert split.train == ("a", "b", "c", "d")


def test_a_single_task_is_trained_on_and_named_as_such() -> None:
    split = split_tasks(["a"], ["a"], count=5, share=0.5)
    assert (split.train, split.evaluation, split.training_share) == (("a",), ("a",), 1.0)


def test_a_resumed_run_holds_out_no_task_that_it_has_trained_on() -> None:
    tasks = [f"t{i}" for i in range(10)]
    first = split_tasks(tasks, tasks, count=1, share=0.2)
    more = split_tasks(tasks, tasks, count=5, share=0.5, held_out=first.held_out)
    assert more.evaluation == first.evaluation
    assert more.train == first.train
    other = split_tasks(["x", "y"], tasks, count=5, share=0.5, held_out=first.held_out, trained_before=first.train)
    assert other.evaluation == first.evaluation


def test_earlier_training_tasks_are_named_training_tasks() -> None:
    split = split_tasks(["x"], ["a", "b"], count=5, share=0.5, held_out=(), trained_before=["a", "b"])
    assert split.training_share == 1.0


def played(folder: Path, phase: str) -> set[str]:
    sql = "SELECT DISTINCT t.task FROM episodes e JOIN tasks t ON t.id = e.task WHERE phase = ?"
    with RunStore.read(folder) as store:
        return {name for (name,) in store.rows(sql, (phase,))}


def facts(folder: Path) -> dict[str, Any]:
    with RunStore.read(folder) as store:
        kept: dict[str, Any] = store.meta()["tasks"]
        return kept


def test_a_run_never_trains_on_its_evaluation_tasks(tmp_path: Path) -> None:
    run = train(DOORS, {**TINY, "trainer.groups": 40, "eval.tasks": 30}, folder=tmp_path)
    kept = facts(tmp_path)
    assert len(played(tmp_path, "eval")) == 30
    assert played(tmp_path, "eval") == set(kept["held_out"])
    assert not played(tmp_path, "train") & played(tmp_path, "eval")
    assert kept["training_share"] == 0.0
    assert run.final.tasks == "held-out tasks"
    with RunStore.read(tmp_path) as store:
        assert store.series("eval/training_share") == [(0, 0.0), (2, 0.0)]


def test_an_evaluation_of_training_tasks_is_reported_as_such(tmp_path: Path) -> None:
    run = train(DOORS, {**TINY, "eval.holdout": 0.0}, folder=tmp_path)
    assert run.final.tasks == "training tasks"
    assert facts(tmp_path)["held_out"] == []
    assert facts(tmp_path)["training_share"] == 1.0


def test_held_out_tasks_are_not_demonstrated() -> None:
    config = load_run_config({**DOORS, "imitation": {"oracle": "reader", "episodes": 1000}})

    def demonstrated(held_out: Collection[str]) -> set[str]:
        shown = demonstrations(config, contexts(config.agent, shared()), held_out=held_out)
        return {episode.task.task_id for episode in shown}

    everything = demonstrated(())
    apart = sorted(everything)[::3]
    assert demonstrated(apart) == everything - set(apart)
