"""Ray clusters on this machine: three nodes for the slow tests, and one small node for the default run.

A test that uses `nodes` is slow: three nodes are 30 processes, and every worker or rank loads torch. `node` is enough
for one run from end to end. Both end with the module that uses them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: on a busy machine actors would not run for minutes
os.environ.setdefault("RAY_enable_worker_prestart", "0")  # workers that no test uses would compete with it
os.environ.setdefault("RAY_prestart_worker_first_driver", "0")

import ray
from ray.cluster_utils import Cluster as Nodes

NODE: dict[str, Any] = {"num_cpus": 4, "object_store_memory": 80 * 2**20}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "nodes" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """The trainer's node, which has a ``solo``, and two that have a ``side`` each."""
    with _cluster(**NODE, resources={"solo": 1}) as nodes:
        for _ in range(2):
            nodes.add_node(**NODE, resources={"side": 1})
        yield nodes


@pytest.fixture(scope="module")
def node() -> Iterator[Nodes]:
    """One node that has two ``side``, and room for two workers."""
    with _cluster(**NODE | {"num_cpus": 2}, resources={"side": 2}) as node:
        yield node


@contextmanager
def _cluster(**head: Any) -> Iterator[Nodes]:  # Any: settings of a node
    nodes = Nodes(initialize_head=True, head_node_args={**head, "include_dashboard": False})
    try:
        ray.init(address=nodes.address, log_to_driver=False, logging_level=logging.ERROR)
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()
