"""Faults during a whole run: each is survived or raised with a remedy, and the run store stays intact."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.core.store import RunStore
from cairn.envs.pool import pool
from cairn.envs.pool.worker_process import WorkerLimits, WorkerProcess
from cairn.trainer.train import train
from tests.trainer.doomed import MEMORY_BYTES
from tests.trainer.test_train import DOORS, ROOT, SMALL, finished, metrics, rows, weights

__all__ = ["finished"]  # a fixture

DOOMED = {
    **SMALL,
    "trainer.updates": 2,
    "trainer.groups": 12,
    "trainer.group_size": 2,
    "trainer.max_failed_share": 0.9,
    "trainer.retries": 0,
    "sampling.slots": 4,
    "env.config": {"doom": "r"},
    "eval.config": {"doom": ""},
    "pool.kind": "processes",
    "pool.limits.memory_bytes": MEMORY_BYTES,
    "pool.limits.seconds_per_call": 60.0,
}
FAILED = """
SELECT t.task, cause, detail, score, success FROM episodes e JOIN tasks t ON t.id = e.task WHERE ending = 'failed'
"""


class ImpatientWorker(WorkerProcess):
    """Waits briefly for the steps that hang, and for all other calls as long as the settings allow."""

    def __init__(
        self, address: str, config: Mapping[str, Any], limits: WorkerLimits, environ: Mapping[str, str]
    ) -> None:
        self.doom, self.is_doomed = str(config.get("doom", "")), False
        super().__init__(address, config, limits, environ)

    def call(self, operation: str, timeout_s: float | None = None, **arguments: Any) -> Any:  # Any: JSON
        if operation == "reset":
            self.is_doomed = bool(self.doom) and arguments["options"]["task"].startswith(self.doom)
        elif operation == "oracle":
            self.is_doomed = False
        return super().call(operation, 0.2 if operation == "step" and self.is_doomed else timeout_s, **arguments)


def assert_intact(folder: Path) -> None:
    with RunStore(folder / "run.sqlite") as store:
        assert store.rows("PRAGMA integrity_check") == [("ok",)]
        assert store.rows("PRAGMA foreign_key_check") == []


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    ("how", "reported"),
    [
        pytest.param("raises", "house is gone", marks=pytest.mark.slow),
        ("eats", "memory"),
        pytest.param("hangs", "hung", marks=pytest.mark.slow),
        pytest.param("garbage", "garbage", marks=pytest.mark.slow),
    ],
)
def test_a_run_outlives_environments_that_break(
    how: str, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "hangs":
        monkeypatch.setattr(pool, "WorkerProcess", ImpatientWorker)
    run = train(DOORS, {**DOOMED, "env.config": {"doom": "r", "how": how}}, folder=tmp_path)
    assert run.is_finished
    failed = rows(tmp_path, FAILED)
    assert failed
    for task, cause, detail, score, success in failed:
        assert task.startswith("red-")
        assert (cause, score, success) == ("environment", None, None)
        assert reported in detail
    assert sum(value for _, value in metrics(tmp_path)["failed"]) == len(failed)
    sound = rows(tmp_path, "SELECT count(*) FROM episodes WHERE phase = 'train' AND ending != 'failed'")
    assert sound[0][0] == 2 * 24 - len(failed)
    assert_intact(tmp_path)


# From the second update on no file may grow beyond a few kilobytes, which simulates a full disk.
FULL = """
import resource, signal, sys
from pathlib import Path
from cairn.core.errors import CairnError
from cairn.trainer.callbacks import Callback
from cairn.trainer.train import train
from tests.trainer import test_train

class Fill(Callback):
    def on_update(self, update, metrics):
        if update == int(sys.argv[2]):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))

try:
    train(test_train.DOORS, test_train.SMALL, folder=Path(sys.argv[1]), callback=Fill())
except CairnError as error:
    print(error)
"""


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    ("update", "limit", "reported"),
    [
        pytest.param(4, 20_000, "Cannot write checkpoint", marks=pytest.mark.slow),
        (3, 100, "Cannot write to run store"),
    ],
)
def test_a_run_on_a_full_disk_stops_with_an_error_and_resumes_with_more_space(
    update: int, limit: int, reported: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path), str(update), str(limit)]
    stopped = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=200, check=False)
    assert reported in stopped.stdout, stopped.stderr[-2000:]
    assert_intact(tmp_path)
    again = train(DOORS, SMALL, folder=tmp_path)
    undisturbed = request.getfixturevalue("finished")
    assert again.is_finished
    assert weights(again) == weights(undisturbed)
    assert metrics(tmp_path) == metrics(undisturbed.folder)
    assert_intact(tmp_path)
