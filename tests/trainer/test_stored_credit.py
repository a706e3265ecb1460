"""Credit on stored episodes equals that of training; disagreements are found; the command shows both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.core.errors import CairnError
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.store import RunStore
from cairn.core.table import StepTable
from cairn.envs import registry
from cairn.envs.base import EnvConfig, EnvMeta
from cairn.trainer.credit import advantages
from cairn.trainer.stored_credit import compare, stored_steps
from examples.doors import Doors


def played(group: int, *steps: str, won: bool = False, final: int | None = 99) -> Episode:
    """Return an episode of steps "state action"; `final` None: nobody recorded where it stopped."""
    turns = tuple(
        Turn(
            observation=Observation(text=f"You see {state}.\nMore.", anchor=int(state)),
            reply_text=action,
            action=action,
            reward=float(won and t == len(steps) - 1),
            channels={"tests": (t + won) / 4},
            reply_ids=np.array([1, 2], np.int32),
            reply_logprobs=np.array([-0.5, -t], np.float32),
        )
        for t, (state, action) in enumerate(step.split() for step in steps)
    )
    return Episode(
        task=Task(env_id="e", task_id=f"t{group}"),
        group_id=group,
        turns=turns,
        ending=Ending.terminated() if won else Ending.truncated("turns"),
        score=float(won),
        success=won,
        final=None if final is None else Observation(text="end", anchor=final),
    )


EPISODES = [
    played(0, "1 a", "2 b", won=True),
    played(0, "1 c", "3 d", final=2),
    played(1, "1 a", "2 b", won=True),
    played(1, "1 a", "2 e"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {}, EPISODES)
        store.add(2, {}, [played(0, "5 x", won=True), played(0, "5 y")])
        failed = replace(EPISODES[1], ending=Ending.failed("environment", "died"), score=None, success=None, final=None)
        store.add(2, {}, [failed])
        store.add(2, {}, [played(7, "8 z")], phase="eval")
    return tmp_path


@pytest.mark.parametrize("method", ["gigpo", "salt", "closure", "graphgpo", "unlikeliness"])
def test_stored_episodes_get_the_advantages_of_training(run: Path, method: str) -> None:
    with RunStore(run / "run.sqlite") as store:
        table, places = stored_steps(store, update=1)
    expected = advantages(StepTable.from_episodes(EPISODES), method)
    np.testing.assert_allclose(advantages(table, method), expected, atol=1e-12)
    assert np.ptp(expected) > 0
    assert [(p.task, p.turn, p.action) for p in places[:3]] == [("t0", 0, "a"), ("t0", 1, "b"), ("t0", 0, "c")]


class Graded(Doors):
    """Doors that declare a part of the reward, depending on a setting."""

    class Config(EnvConfig):
        graded: bool = True

    @classmethod
    def declare(cls, config: EnvConfig) -> EnvMeta:
        assert isinstance(config, Graded.Config)
        return replace(cls.meta, parts=("tests",) if config.graded else (), is_deterministic=False)


@pytest.fixture
def graded() -> Iterator[str]:
    registry.register("graded-doors", Graded)
    yield "graded-doors"
    registry._registered.pop("graded-doors")


def declared(run: Path, env_id: str, **config: Any) -> StepTable:
    """Return the table of a run that trained in this environment."""
    with RunStore(run / "run.sqlite") as store:
        store.set_meta({"config": {"env": {"id": env_id, "config": config}}})
        return stored_steps(store)[0]


def test_parts_are_those_that_the_environment_declares_with_the_runs_settings(run: Path, graded: str) -> None:
    table = declared(run, graded)
    assert (table.parts, table.is_deterministic) == (("tests",), False)
    assert np.ptp(advantages(table, "gdpo")) > 0
    assert declared(run, graded, graded=False).parts == ()


def test_a_declared_part_that_is_not_stored_is_none(tmp_path: Path, graded: str) -> None:
    turns = tuple(replace(turn, channels={}) for turn in EPISODES[0].turns)
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {}, [replace(EPISODES[0], turns=turns)])
    assert declared(tmp_path, graded).parts == ()


def test_a_dotted_path_that_a_run_names_is_not_imported(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    table = declared(run, "planted:Env")
    assert not (tmp_path / "planted.imported").exists()
    assert (table.parts, table.is_deterministic) == ((), False)
    with pytest.raises(CairnError, match="'gdpo' needs parts"):
        advantages(table, "gdpo")


def test_groups_of_two_updates_are_two_groups(run: Path) -> None:
    with RunStore(run / "run.sqlite") as store:
        table, places = stored_steps(store)
    assert (len(table), table.num_episodes, int(table.group.max()) + 1) == (10, 6, 3)
    assert [p.update for p in places] == [1] * 8 + [2] * 2


def test_an_unrecorded_end_stays_unknown_and_other_next_states_stay_known(tmp_path: Path) -> None:
    episodes = [played(0, "1 a", final=None), played(0, "1 b", "2 c"), played(0, "2 d", won=True)]
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {}, episodes)
        table, _ = stored_steps(store)
    assert table.knows_next.tolist() == [False, True, True, True]
    assert table.next_anchor[1:].tolist() == [2, 99, 99]
    np.testing.assert_allclose(advantages(table, "closure"), advantages(StepTable.from_episodes(episodes), "closure"))


def test_an_update_without_stored_episodes_raises_an_error(run: Path) -> None:
    with RunStore(run / "run.sqlite") as store, pytest.raises(CairnError, match="no training episodes of update 9"):
        stored_steps(store, update=9)


def test_disagreements_are_measured_in_deviations_and_sorted_by_size(run: Path) -> None:
    with RunStore(run / "run.sqlite") as store:
        _, places = stored_steps(store, update=1)
    first = np.array([2.0, -2, 2, -2, 0, 0, 0, 0])  # deviation sqrt(2)
    second = np.array([1.0, -1, -1, 1, 0, 0, 0, 0])  # sqrt(1/2)
    correlation, signs, apart = compare(places, first, second, limit=2)
    assert correlation == pytest.approx(0, abs=1e-12)
    assert signs == 0.5
    assert [(d.step.turn, d.step.action) for d in apart] == [(0, "c"), (1, "d")]
    np.testing.assert_allclose([apart[0].first, apart[0].second], [np.sqrt(2), -np.sqrt(2)])


def test_equal_methods_have_nothing_to_disagree_on(run: Path) -> None:
    with RunStore(run / "run.sqlite") as store:
        table, places = stored_steps(store)
    found = advantages(table, "gigpo")
    correlation, signs, apart = compare(places, found, found, limit=5)
    assert correlation == pytest.approx(1)
    assert (signs, apart) == (1.0, [])


def test_the_command_shows_metrics_and_disagreements(run: Path) -> None:
    answer = CliRunner().invoke(app, ["credit", str(run), "--method", "salt", "--compare", "gigpo", "--update", "1"])
    assert answer.exit_code == 0, answer.output
    assert "8 steps of 4 episodes" in answer.stdout
    assert "sign_agreement" in answer.stdout
    assert "You see 2." in answer.stdout
    assert "More." not in answer.stdout


def test_the_command_answers_programs(run: Path) -> None:
    answer = CliRunner().invoke(app, ["credit", str(run), "--set", "gamma=0.9", "--top", "1", "--json"])
    found = json.loads(answer.stdout)
    assert found["steps"] == 10
    assert len(found["disagreements"]) == 1
    assert set(found["metrics"]) == {"closure", "gigpo"}


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["credit", str(tmp_path)])
    assert answer.exit_code == 2
    assert "is not a run: expected a folder with run.sqlite" in answer.stderr
