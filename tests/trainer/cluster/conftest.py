"""One Ray cluster of three nodes for all of these tests, on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.cluster_utils import Cluster as Nodes

NODE: dict[str, Any] = {"num_cpus": 4, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """The trainer's node, which has a ``solo``, and two that have a ``side`` each."""
    nodes = Nodes(initialize_head=True, head_node_args={**NODE, "include_dashboard": False, "resources": {"solo": 1}})
    for _ in range(2):
        nodes.add_node(**NODE, resources={"side": 1})
    ray.init(address=nodes.address, log_to_driver=False, logging_level=logging.ERROR)
    yield nodes
    ray.shutdown()
    nodes.shutdown()  # type: ignore[no-untyped-call]  # Ray's
