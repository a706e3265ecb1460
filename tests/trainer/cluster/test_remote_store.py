"""The store behind a writer that is killed again and again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster as Nodes

from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from cairn.trainer.cluster.actors import Cluster
from cairn.trainer.cluster.config import ClusterConfig
from cairn.trainer.cluster.store import RemoteStore
from tests.core.store.test_store import episode
from tests.trainer.cluster.doors import processes

pytestmark = [pytest.mark.xdist_group("memory"), pytest.mark.timeout(400)]


def wait_until_written(path: Path, step: int) -> None:
    with RunStore(path) as reader:
        until = time.monotonic() + 30
        while reader.rows("SELECT max(step) FROM episodes") != [(step,)]:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_a_killed_writer_leaves_nothing_out_and_nothing_twice(nodes: Nodes, tmp_path: Path) -> None:
    """It is killed with writes on their way; once all of them are in the file, and not taken note of yet."""
    notes: list[str] = []
    with Cluster(ClusterConfig(writer=True), notes.append) as cluster:
        store = RemoteStore(cluster, tmp_path / "run.sqlite", 1 << 30)
        store.set_meta({"config": {"seed": 3}})
        for step in range(40):
            store.add(step, {f"m{i}": float(i) for i in range(200)}, [episode(1.0, "look"), episode(0.0, "go")])
            if step == 25:
                wait_until_written(tmp_path / "run.sqlite", step)
            if step in (10, 25, 39):
                os.kill(processes(notes, "The store's writer")[-1], signal.SIGKILL)
        assert store.meta()["config"] == {"seed": 3}
        with RunStore(tmp_path / "run.sqlite") as reader:
            assert reader.rows("SELECT step, count(*) FROM metrics GROUP BY 1") == [(n, 200) for n in range(40)]
            assert reader.rows("SELECT step, count(*) FROM episodes GROUP BY 1") == [(n, 2) for n in range(40)]
            assert reader.rows("SELECT count(*) FROM turns") == [(80,)]
        assert cluster.replaced == 3
        store.forget_after(20)
        store.flush()
        store.add(50, {"loss": 0.5}, [episode(1.0, "look")], phase=None)  # type: ignore[arg-type]  # the fault
        with pytest.raises(CairnError, match="Earlier writes are intact"):
            store.flush()
    with RunStore(tmp_path / "run.sqlite") as reader:
        assert reader.rows("SELECT max(step) FROM episodes") == [(20,)]


def test_a_file_that_cannot_be_opened_is_an_error(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_bytes(b"no database" * 100)
    with (
        Cluster(ClusterConfig(writer=True), lambda _: None) as cluster,
        pytest.raises(CairnError, match="Cannot open run store"),
    ):
        RemoteStore(cluster, tmp_path / "run.sqlite", 1 << 30)
