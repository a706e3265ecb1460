"""Whole runs on a cluster: equal to those of one process, ahead within bounds, interrupted, killed, resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from ray.cluster_utils import Cluster as Nodes

from cairn.trainer.cluster.rollout import ClusterRollout
from cairn.trainer.config import RunConfig
from cairn.trainer.train import train
from tests.processes import has_ended
from tests.trainer.cluster.doors import PAIR, order_of, processes, settings
from tests.trainer.test_train import ROOT, Heard, metrics, rows, stored, weights

pytestmark = [pytest.mark.xdist_group("memory"), pytest.mark.timeout(400)]
publish = ClusterRollout.sync_weights
WORKER = {"cluster.workers": 1, "cluster.writer": True}
TASKS = "SELECT phase, step, group_id, t.task FROM episodes e JOIN tasks t ON t.id = e.task ORDER BY 1, 2, 3, e.id"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four updates in one process."""
    return train(settings(trainer__updates=4), folder=tmp_path_factory.mktemp("alone")).folder


DRIVER = """
import sys
from pathlib import Path
from cairn.trainer.callbacks import Callback
from cairn.trainer.cluster.rollout import ClusterRollout
from cairn.trainer.train import train
from tests.trainer.cluster.doors import settings

class Tell(Callback):
    def on_note(self, text):
        print(text, flush=True)

    def on_update(self, update, metrics):
        print("update", update, flush=True)
        if update == int(sys.argv[3]):
            sys.stdin.readline()

options = {"cluster.workers": 1, "cluster.writer": True, "cluster.address": sys.argv[2], "trainer.updates": 4}
print("finished", train(settings(**options), folder=Path(sys.argv[1]), callback=Tell()).is_finished, flush=True)
"""


def driver(folder: Path, address: str, waits_after: int) -> subprocess.Popen[str]:
    """Start a run in a process of its own, which waits for a line after an update."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), address, str(waits_after)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )


def lines_until(stream: IO[str] | None, last: str) -> Iterator[str]:
    assert stream is not None
    for line in stream:
        yield line.strip()
        if line.strip() == last:
            return
    pytest.fail(f"it ended before it said {last!r}")


def test_one_worker_without_staleness_equals_one_process_bit_for_bit(nodes: Nodes, alone: Path, tmp_path: Path) -> None:
    """More episodes than slots: they begin in the order, and share the forward passes, of one process."""
    run = train(settings(**WORKER, trainer__updates=4), folder=tmp_path)
    reported = {name: series for name, series in metrics(tmp_path).items() if name not in ("replaced", "in_flight")}
    assert reported == {name: series for name, series in metrics(alone).items() if name != "in_flight"}  # dealt ahead
    assert weights(run) == (alone / "checkpoints" / "update-000004" / "model.safetensors").read_bytes()
    assert stored(tmp_path) == stored(alone)


def test_an_interrupted_and_then_killed_run_resumes_with_the_same_tasks(
    nodes: Nodes, alone: Path, tmp_path: Path
) -> None:
    process = driver(tmp_path, nodes.address, 1)
    notes = list(lines_until(process.stdout, "update 1"))
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert rest.split("\n")[-2] == "finished False"
    assert "update 2" not in rest
    assert [path.name for path in sorted((tmp_path / "checkpoints").iterdir())] == ["update-000000", "update-000001"]
    actors = [*processes(notes, "Rollout worker 0"), *processes(notes, "The store's writer")]
    assert len(actors) == 2
    assert all(map(has_ended, actors))

    process = driver(tmp_path, nodes.address, 3)
    notes = list(lines_until(process.stdout, "update 3"))
    assert "resumed from update-000001" in notes
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert all(map(has_ended, [*processes(notes, "Rollout worker 0"), *processes(notes, "The store's writer")]))

    heard = Heard()
    run = train(settings(**WORKER, trainer__updates=4), folder=tmp_path, callback=heard, resume=True)
    assert "resumed from update-000002" in heard.notes
    assert heard.updates == [3, 4]
    assert run.is_finished
    assert rows(tmp_path, TASKS) == rows(alone, TASKS)
    assert {name: [step for step, _ in series] for name, series in metrics(tmp_path).items() if name != "replaced"} == {
        name: [step for step, _ in series] for name, series in metrics(alone).items()
    }
    lags = "SELECT DISTINCT step - 1 - version FROM turns JOIN episodes ON id = episode WHERE phase = 'train'"
    assert rows(tmp_path, lags) == [(0,)]


AHEAD = {"schedule.over_provision": 1.5, "schedule.staleness": 2, "learner.importance_cap": 2.0}
OF_TRAINING = "FROM episodes e JOIN tasks t ON t.id = e.task WHERE phase = 'train'"


def check_ahead(config: RunConfig, folder: Path, heard: Heard) -> None:
    """Check that a run has trained on whole groups in their order, with weights that were old within the bound."""
    updates = config.trainer.updates
    assert heard.updates == list(range(1, updates + 1))
    steps = [(step, 16) for step in heard.updates]
    assert rows(folder, f"SELECT step, count(*) {OF_TRAINING} GROUP BY 1") == steps
    groups = rows(folder, f"SELECT group_id, count(*), count(DISTINCT t.task), min(t.task) {OF_TRAINING} GROUP BY 1")
    order = order_of(config)
    assert groups == [(number, 4, 1, order.group(number)[0].task.task_id) for number, *_ in groups]
    late = rows(folder, "SELECT step - 1 - version FROM turns JOIN episodes ON id = episode WHERE phase = 'train'")
    assert {0, 1} <= {lag for (lag,) in late} <= {0, 1, 2}
    assert max(value for _, value in metrics(folder)["staleness/max"]) <= 2
    assert {value for _, value in metrics(folder)["replaced"]} == {0.0}


def publish_late(rollout: ClusterRollout, version: int) -> None:
    """Publish the first new weights only when the workers have completed a group of the next update without them."""

    def is_ahead() -> bool:
        with rollout._changed:
            return bool(rollout.groups.schedule.ready)

    until = time.monotonic() + 150
    while version == 1 and not is_ahead():
        assert time.monotonic() < until, "the workers wait for the new weights"
        time.sleep(0.02)
    publish(rollout, version)


def test_workers_run_ahead_within_the_bound_while_ranks_learn(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClusterRollout, "sync_weights", publish_late)
    ranks = {"cluster.ranks": 2, "cluster.writer": True}
    config, heard = settings(**PAIR, **AHEAD, **ranks, trainer__updates=6), Heard()
    run = train(config, folder=tmp_path, callback=heard)
    assert run.is_finished
    assert weights(run)
    assert sorted({name for note in heard.notes for name in (note.partition(" is ")[0],)}) == [
        "Learner rank 0",
        "Learner rank 1",
        "Rollout worker 0",
        "Rollout worker 1",
        "The store's writer",
    ]
    check_ahead(config, tmp_path, heard)


@pytest.mark.slow
def test_without_ray_the_error_names_the_extra() -> None:
    """And nothing else of a run needs it."""
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from cairn.trainer.build import build_cluster\nfrom cairn.trainer.train import train\n"
        "from cairn.trainer.config import load_run_config\n"
        "build_cluster(load_run_config({'cluster': {'workers': 1}}), print)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "MissingExtraError" in ended.stderr
    assert "pip install 'ray>=" in ended.stderr
