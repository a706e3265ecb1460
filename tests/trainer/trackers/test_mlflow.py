"""MLflow with a store in an SQLite file, read back with MLflow's own client."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import MissingExtraError
from cairn.trainer.trackers.mlflow import TRACKER, MlflowConfig
from tests.trainer.trackers.tracked import run_in, tell

is_installed = all(find_spec(name) for name in ("mlflow", "sqlalchemy", "alembic"))
needs_mlflow = pytest.mark.skipif(not is_installed, reason="MLflow is not installed: pip install -e '.[mlflow]'")


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def client(store: Path) -> Any:  # Any: MLflow is optional
    from mlflow.tracking import MlflowClient

    return MlflowClient(f"sqlite:///{store}")


def only_run(store: Path, experiment: str = "cairn") -> Any:  # Any: as above
    asked = client(store)
    (found,) = asked.search_runs([asked.get_experiment_by_name(experiment).experiment_id])
    return found


@needs_mlflow
def test_a_run_is_logged_and_resumed(tmp_path: Path) -> None:
    run, store = run_in(tmp_path / "doors-1"), tmp_path / "mlflow.db"
    tell(TRACKER.make(MlflowConfig(), run))
    found = only_run(store)
    assert (found.info.run_name, found.info.status) == ("doors-1", "FINISHED")
    assert found.data.params == {"name": "doors", "trainer.updates": "2", "env.config": "{}"}
    assert found.data.tags["version.torch"] == "2.13.0"
    assert found.data.tags["folder"] == run.folder.as_uri()
    assert found.data.metrics == {
        "imitation/loss": 0.5, "eval/success": 0.75, "eval/success/look _at_": 0.5, "eval/success/pick": 1.0,
        "eval/turns": 6.5, "train/success": 0.5, "train/seconds/learn": 2.0,
    }  # fmt: skip
    history = client(store).get_metric_history(found.info.run_id, "train/success")
    assert [(each.step, each.value) for each in history] == [(1, 0.25), (1, 0.5)]

    longer = TRACKER.make(MlflowConfig(), run_in(tmp_path / "doors-1", updates=3))
    longer.open()
    assert only_run(store).info.status == "RUNNING"
    longer.on_update(2, {"success": 0.75})
    longer.close(has_failed=True)
    again = only_run(store)
    assert (again.info.run_id, again.info.status) == (found.info.run_id, "FAILED")
    assert (again.data.params["trainer.updates"], again.data.tags["changed.trainer.updates"]) == ("2", "3")
    assert again.data.metrics["train/success"] == 0.75


@needs_mlflow
def test_the_experiment_and_the_store_are_those_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'said.db'}")
    tell(TRACKER.make(MlflowConfig(experiment="mine"), run_in(tmp_path / "one")))
    assert only_run(tmp_path / "said.db", "mine").info.run_name == "one"
    tell(TRACKER.make(MlflowConfig(uri=f"sqlite:///{tmp_path / 'asked.db'}"), run_in(tmp_path / "two")))
    assert only_run(tmp_path / "asked.db").info.run_name == "two"
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.skipif(is_installed, reason="MLflow is installed")
def test_without_its_packages_it_names_the_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'alembic>="):
        TRACKER.check_installed()
