"""A run continues with its own settings, or with changed ones on request; the store keeps each configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError, ConfigError
from cairn.core.store import RunStore
from cairn.trainer.config import load_run_config
from cairn.trainer.run.history import changes, described, extended
from cairn.trainer.train import train
from tests.trainer.doomed import Doomed
from tests.trainer.test_train import DOORS, TINY, Heard

SHORT = {**TINY, "trainer.updates": 1}


def meta(folder: Path) -> dict[str, Any]:
    with RunStore.read(folder) as store:
        return store.meta()


def events(folder: Path, kind: str) -> list[str]:
    with RunStore.read(folder) as store:
        return [text for (text,) in store.rows("SELECT text FROM events WHERE kind = ? ORDER BY id", (kind,))]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(DOORS, SHORT, folder=tmp_path_factory.mktemp("run")).folder


def test_another_configuration_does_not_continue_a_run_by_accident(run_folder: Path) -> None:
    before = meta(run_folder)
    with pytest.raises(ConfigError, match=r"holds a run with other settings: .*vocab_size 400 -> 500.*--resume"):
        train(DOORS, {**SHORT, "model.vocab_size": 500}, folder=run_folder)
    assert meta(run_folder) == before


@pytest.mark.parametrize(
    "late",
    [
        {"model.vocab_size": 500},
        {"model.preset": "qwen3-tiny"},
        {"imitation.episodes": 3},
        {"env.id": "household"},
        {"eval.holdout": 0.5},
    ],
    ids=str,
)
def test_settings_without_effect_on_a_run_that_has_started_are_refused(
    late: Mapping[str, Any], run_folder: Path
) -> None:
    before = meta(run_folder)
    with pytest.raises(ConfigError, match=f"cannot continue with .*{next(iter(late))}.*decided when it started"):
        train(DOORS, {**SHORT, **late}, folder=run_folder, resume=True)
    assert meta(run_folder) == before


def test_the_store_keeps_each_configuration_with_the_update_from_which_it_applies(tmp_path: Path) -> None:
    train(DOORS, SHORT, folder=tmp_path)
    train(DOORS, {**SHORT, "trainer.updates": 2, "learner.optimizer.lr": 1e-4}, folder=tmp_path, resume=True)
    kept = meta(tmp_path)["configs"]
    assert [entry["update"] for entry in kept] == [0, 1]
    assert [entry["config"]["learner"]["optimizer"]["lr"] for entry in kept] == [3e-3, 1e-4]
    assert meta(tmp_path)["config"] == kept[-1]["config"]
    (reported,) = events(tmp_path, "settings")
    assert reported == "settings changed after update 1: learner.optimizer.lr 0.003 -> 0.0001, trainer.updates 1 -> 2"


def test_a_run_that_continues_unchanged_adds_no_configuration(tmp_path: Path) -> None:
    train(DOORS, SHORT, folder=tmp_path)
    train(DOORS, SHORT, folder=tmp_path)
    assert [entry["update"] for entry in meta(tmp_path)["configs"]] == [0]
    assert events(tmp_path, "settings") == []


def test_updates_that_were_lost_take_their_configurations_with_them() -> None:
    first, second, third = (load_run_config(DOORS, {"seed": seed}) for seed in range(3))
    history = extended([], first, 0)
    history = extended(history, second, 10)
    assert [entry["update"] for entry in extended(history, third, 20)] == [0, 10, 20]
    rolled_back = extended(history, third, 4)
    assert [(entry["update"], entry["config"]["seed"]) for entry in rolled_back] == [(0, 0), (4, 2)]
    assert extended(history, first, 4) == [history[0]]


def test_an_environment_of_another_version_is_refused_or_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(DOORS, SHORT, folder=tmp_path)
    monkeypatch.setattr(Doomed, "meta", type(Doomed.meta)(**{**vars(Doomed.meta), "version": 99}))
    longer = {**SHORT, "trainer.updates": 2}
    with pytest.raises(CairnError, match=r"has played version 1 of .*this is version 99.*--accept-env-version"):
        train(DOORS, longer, folder=tmp_path, resume=True)
    assert meta(tmp_path)["declared"]["version"] == 1
    assert train(DOORS, longer, folder=tmp_path, resume=True, accept_env_version=True).is_finished
    assert meta(tmp_path)["declared"]["version"] == 99


def test_changed_tasks_drop_episodes_in_flight_with_a_note(tmp_path: Path) -> None:
    ahead = {**SHORT, "schedule.over_provision": 2.0, "schedule.staleness": 2, "sampling.slots": 20}
    train(DOORS, ahead, folder=tmp_path)
    heard = Heard()
    longer = {**ahead, "trainer.updates": 2, "seed": 5}
    assert train(DOORS, longer, folder=tmp_path, resume=True, callback=heard).is_finished
    assert any("episodes in flight were dropped" in note for note in heard.notes)
    with RunStore.read(tmp_path) as store:
        of_groups = store.rows("SELECT group_id, count(DISTINCT task) FROM episodes WHERE phase = 'train' GROUP BY 1")
    assert {count for _, count in of_groups} == {1}  # no group mixes tasks of two orders


def test_changes_are_listed_by_name_and_cut_when_there_are_many() -> None:
    found = changes({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}, "d": "x"})
    assert described(found) == 'a.b 1 -> 3, d null -> "x"'
    many = changes({}, {str(i): i for i in range(20)})
    assert described(many).endswith("and 12 more")


def test_two_trainers_do_not_write_one_folder(tmp_path: Path) -> None:
    class Intrudes(Heard):
        def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
            super().on_update(update, metrics)
            with pytest.raises(CairnError, match="is being written by process"):
                train(DOORS, SHORT, folder=tmp_path)

    heard = Intrudes()
    assert train(DOORS, SHORT, folder=tmp_path, callback=heard).is_finished
    assert heard.updates == [1]
