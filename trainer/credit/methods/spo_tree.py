"""SPO-tree: the value of a node in a rollout tree minus that of its parent.

::

    V(node) = mean over its children of V(child)        V(leaf) = the score of the episode that ends there
    A       = V(node) - V(parent)                       optionally / (std of the siblings + epsilon), ddof 0

A row's node is the node after its step; the root is the group's task. The table holds a tree as complete episodes from
the root to a leaf. Common prefixes repeat, with equal `node` keys or equal states and actions. Averaging unit:
children, each once, independent of the number of episodes through it. If an episode ends at an inner node, its end is
one more child; episodes that end at the same node are one leaf with their mean score.
Degenerate cases: an only child: 0; siblings without spread: 0; a group of one episode: 0. Depth 1: Dr. GRPO, and with
`normalize = "std"` GRPO with ddof 0.
Source: 2505.23564 and AIFrameResearch/SPO. Departures: none in the advantage. Not implemented: dropping edges of
advantage 0, the replay buffer, the token mask, and weighting repeated rows: a step in k episodes is k rows of the loss.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.returns import rows_by_turn, scores
from cairn.trainer.credit.kernel.segments import centered, segments


class SPOTreeConfig(Config):
    """Settings of SPO-tree."""

    normalize: Literal["none", "std"] = Field("none", description="Divide by the siblings' standard deviation, or not.")
    epsilon: float = Field(1e-8, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: SPOTreeConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    node = segments(table.group, keys.tree_node(table))
    num_nodes = int(node.max(initial=-1)) + 1
    size = num_nodes + int(table.group.max(initial=-1)) + 1  # the roots come last, one per group
    row = np.empty(num_nodes, np.int64)
    row[node[::-1]] = np.arange(len(node))[::-1]  # one row of each node
    parent = np.where(table.turn[row] > 0, node[row - 1], num_nodes + table.group[row])

    score = centered(scores(table), table.group[table.first_rows])  # centred: equal scores are exactly 0
    leaf = node[table.is_last]
    ends = np.bincount(leaf, minlength=size)
    end_value = np.bincount(leaf, score, size) / np.maximum(ends, 1)
    total, count = np.where(ends > 0, end_value, 0.0), (ends > 0).astype(np.float64)
    np.add.at(count, parent, 1.0)
    for nodes in reversed(rows_by_turn(table.turn[row])):
        np.add.at(total, parent[nodes], total[nodes] / count[nodes])
    value = total / np.maximum(count, 1.0)

    advantage = value[:num_nodes] - value[parent]
    if config.normalize == "std":
        squares = np.where(ends > 0, (end_value - value) ** 2, 0.0) + np.bincount(parent, advantage**2, size)
        advantage = advantage / (np.sqrt(squares / np.maximum(count, 1.0))[parent] + config.epsilon)
    return advantage[node]


CREDIT = Credit(SPOTreeConfig, from_function(compute), needs_in_training=("node",))
