"""Faults under a whole run: each is survived or refused with what to do, and the run store stays intact."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cairn.core.store import RunStore
from cairn.trainer.train import train
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
    "pool.limits.memory_bytes": 1 << 30,
}
FAILED = """
SELECT t.task, cause, detail, score, success FROM episodes e JOIN tasks t ON t.id = e.task WHERE ending = 'failed'
"""


def assert_intact(folder: Path) -> None:
    with RunStore(folder / "run.sqlite") as store:
        assert store.rows("PRAGMA integrity_check") == [("ok",)]
        assert store.rows("PRAGMA foreign_key_check") == []


@pytest.mark.parametrize(
    ("how", "told"), [("raises", "house is gone"), ("hangs", "hung"), ("eats", "memory"), ("garbage", "garbage")]
)
def test_a_run_outlives_environments_that_break(how: str, told: str, tmp_path: Path) -> None:
    patience = {"pool.limits.seconds_per_call": 1.0 if how == "hangs" else 30.0}
    run = train(DOORS, {**DOOMED, **patience, "env.config": {"doom": "r", "how": how}}, folder=tmp_path)
    assert run.is_finished
    failed = rows(tmp_path, FAILED)
    assert failed
    for task, cause, detail, score, success in failed:
        assert task.startswith("red-")
        assert (cause, score, success) == ("environment", None, None)
        assert told in detail
    assert sum(value for _, value in metrics(tmp_path)["failed"]) == len(failed)
    sound = rows(tmp_path, "SELECT count(*) FROM episodes WHERE phase = 'train' AND ending != 'failed'")
    assert sound[0][0] == 2 * 24 - len(failed)
    assert_intact(tmp_path)


# From the second update on no file may grow beyond a few kilobytes, which stands in for a disk without room.
FULL = """
import resource, signal, sys
from pathlib import Path
from cairn.core.errors import CairnError
from cairn.trainer.listener import Listener
from cairn.trainer.train import train
from tests.trainer import test_train

class Fill(Listener):
    def updated(self, update, metrics):
        if update == int(sys.argv[2]):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))

try:
    train(test_train.DOORS, test_train.SMALL, folder=Path(sys.argv[1]), listener=Fill())
except CairnError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("update", "limit", "told"), [(4, 20_000, "Cannot write checkpoint"), (3, 100, "Cannot write to run store")]
)
def test_a_run_whose_disk_is_full_says_so_and_goes_on_when_there_is_room(
    update: int, limit: int, told: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path), str(update), str(limit)]
    stopped = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=200, check=False)
    assert told in stopped.stdout, stopped.stderr[-2000:]
    assert_intact(tmp_path)
    again = train(DOORS, SMALL, folder=tmp_path)
    undisturbed = request.getfixturevalue("finished")
    assert again.is_finished
    assert weights(again) == weights(undisturbed)
    assert metrics(tmp_path) == metrics(undisturbed.folder)
    assert_intact(tmp_path)
