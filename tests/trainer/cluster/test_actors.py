"""Actors of a Ray cluster that a run starts by itself; no other cluster runs on this machine meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.xdist_group("memory"), pytest.mark.slow]

PROGRAM = """
import os
from cairn.trainer.cluster.actors import Cluster
from cairn.trainer.cluster.config import ActorResources, ClusterConfig

class Priority:
    def niceness(self):
        return os.nice(0)

with Cluster(ClusterConfig(workers=1), print) as cluster:
    actor = cluster.start(Priority, ActorResources())
    print(cluster.answer(actor.niceness.remote()) - os.nice(0))
"""


def test_actors_have_the_priority_of_the_trainer() -> None:
    """With Ray's default niceness of 15 they would not run while other programs use all cores."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert (ended.returncode, ended.stdout) == (0, "0\n"), ended.stderr
