"""MLflow (extra `mlflow`): runs of an experiment on a tracking server or in an SQLite file.

Settings are parameters, versions and the folder are tags. MLflow cannot change a parameter: if a resumed run has a
changed setting, it gets a tag ``changed.NAME``. No artifacts are sent.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from importlib.util import find_spec

from pydantic import Field

from cairn.core.errors import MissingExtraError
from cairn.core.plugins import Plugin
from cairn.trainer.trackers.base import TrackedRun, Tracker, TrackerConfig

_FORBIDDEN = re.compile(r"[^\w .:/-]", re.ASCII)  # characters not allowed in names
_LONGEST = 500  # maximum length of a value on all servers
_AT_ONCE = 100  # parameters or tags in one request


class MlflowConfig(TrackerConfig):
    """Settings of MLflow."""

    uri: str | None = Field(
        None,
        description="Server or store. None: what MLFLOW_TRACKING_URI says, else mlflow.db beside the run's folder.",
    )
    experiment: str = Field("cairn", min_length=1, description="Under which the run is listed.")


class Mlflow(Tracker):
    """Writes a run of an MLflow experiment."""

    def __init__(self, config: MlflowConfig, run: TrackedRun) -> None:
        self._config, self._about = config, run

    def open(self) -> None:
        """Start or resume the run."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
        from mlflow.tracking import MlflowClient

        about = self._about
        store = f"sqlite:///{about.folder.parent / 'mlflow.db'}"
        self._client = MlflowClient(self._config.uri or os.environ.get("MLFLOW_TRACKING_URI") or store)
        self._id = about.identity("mlflow", self._create)
        self._client.update_run(self._id, status="RUNNING")
        known = self._client.get_run(self._id).data.params
        settings = {_named(name): value[:_LONGEST] for name, value in about.settings.items()}
        self._describe({name: value for name, value in settings.items() if name not in known}, {})
        self._describe({}, {f"changed.{k}": v for k, v in settings.items() if known.get(k, v) != v})

    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        """Send the metrics in one request."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        batch = [Metric(_named(f"{phase}/{name}"), value, now, step) for name, value in metrics.items()]
        self._client.log_batch(self._id, metrics=batch)

    def close(self, *, has_failed: bool) -> None:
        """Set the run's final status."""
        self._client.set_terminated(self._id, "FAILED" if has_failed else "FINISHED")

    def _create(self) -> str:
        about, name = self._about, self._config.experiment
        found = self._client.get_experiment_by_name(name)
        experiment = found.experiment_id if found is not None else self._client.create_experiment(name)
        versions = {f"version.{package}": version for package, version in about.versions.items()}
        link = {"folder": about.link, "mlflow.note.content": f"[{about.folder}]({about.link})"}
        run_id: str = self._client.create_run(experiment, run_name=about.name, tags={**versions, **link}).info.run_id
        return run_id

    def _describe(self, params: Mapping[str, str], tags: Mapping[str, str]) -> None:
        from mlflow.entities import Param, RunTag

        pairs = [*(Param(k, v) for k, v in params.items()), *(RunTag(k, v) for k, v in tags.items())]
        for at in range(0, len(pairs), _AT_ONCE):
            some = pairs[at : at + _AT_ONCE]
            self._client.log_batch(
                self._id,
                params=[each for each in some if isinstance(each, Param)],
                tags=[each for each in some if isinstance(each, RunTag)],
            )


def _named(name: str) -> str:
    """Return a name without characters that MLflow does not allow."""
    return _FORBIDDEN.sub("_", name)


def _check_installed() -> None:
    if any(find_spec(name) is None for name in ("mlflow", "sqlalchemy", "alembic")):
        raise MissingExtraError("The tracker 'mlflow'", "mlflow")


TRACKER = Plugin(MlflowConfig, Mlflow, _check_installed)
