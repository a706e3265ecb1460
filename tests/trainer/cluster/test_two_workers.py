"""One run from end to end with two workers, on a small cluster: the other tests with several nodes are slow."""

from __future__ import annotations

from pathlib import Path

import pytest
from ray.cluster_utils import Cluster as Nodes

from cairn.trainer.cluster.rollout import ClusterRollout
from cairn.trainer.train import train
from tests.trainer.cluster.doors import PAIR, settings, wait_for
from tests.trainer.cluster.test_cluster_run import AHEAD, check_ahead, publish_late
from tests.trainer.test_train import Heard, weights

pytestmark = [pytest.mark.xdist_group("memory"), pytest.mark.timeout(400)]


def test_two_workers_run_ahead_within_the_bound(node: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, heard = settings(**PAIR, **AHEAD, trainer__updates=3), Heard()

    def publish_with_both(rollout: ClusterRollout, version: int) -> None:
        for number in range(2):
            wait_for(heard.notes, f"Rollout worker {number}", timeout_s=300)
        publish_late(rollout, version)

    monkeypatch.setattr(ClusterRollout, "sync_weights", publish_with_both)
    run = train(config, folder=tmp_path, callback=heard)
    assert run.is_finished
    assert weights(run)
    assert {note.partition(" is ")[0] for note in heard.notes} == {"Rollout worker 0", "Rollout worker 1"}
    check_ahead(config, tmp_path, heard)
