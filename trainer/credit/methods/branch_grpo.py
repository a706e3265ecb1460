"""BranchGRPO: compares each node of a rollout tree with the other nodes of its depth.

::

    R(node) = mean score of the leaves under the node
    A       = clip((R - mean_d) / (std_d + epsilon), -limit, limit)        over the nodes of depth d; std with ddof 1

A row's node is the node after its step; each group is one tree. The table holds a tree as complete episodes from the
root to a leaf. Common prefixes repeat, with equal `node` keys or equal states and actions. Averaging units: leaves in
R, nodes in mean_d and std_d, each once, independent of the number of episodes through it. Episodes that end at the same
node are one leaf with their mean score. Degenerate cases: a depth with one node, or with std below 1e-6: 0; so a group
of one: 0. Depth 1: GRPO.
Source: 2509.06040 and Fredreic1849/BranchGRPO. Departures: none in this form. Not implemented: the form of R that
weights children by a softmax of their logprobs; pruning by depth and width, which are masks (`trained`); weighting
repeated rows: a step in k episodes is k rows of the loss.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, segments

_LEAST_STD = 1e-6  # threshold below which a depth counts as having no spread


class BranchGRPOConfig(Config):
    """Settings of BranchGRPO."""

    clip: float = Field(5.0, gt=0, description="Largest size of an advantage.")
    epsilon: float = Field(1e-8, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: BranchGRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    node = segments(table.group, keys.tree_node(table))
    leaf = node[table.is_last]
    share = (1.0 / np.bincount(leaf)[leaf])[table.episode]  # episodes with the same leaf share its weight
    score = centered(scores(table), table.group[table.first_rows])  # centred: equal scores are exactly 0
    reward = (np.bincount(node, share * score[table.episode]) / np.bincount(node, share))[node]

    once = np.zeros(len(table))
    once[np.unique(node, return_index=True)[1]] = 1.0
    depth = segments(table.group, keys.tree_depth(table))
    centred = centered(reward, depth, weight=once)
    degrees = np.maximum(np.bincount(depth, once) - 1.0, 1.0)
    std = np.sqrt(np.bincount(depth, once * centred**2) / degrees)[depth]
    scaled = np.clip(centred / (std + config.epsilon), -config.clip, config.clip)
    return np.where(std < _LEAST_STD, 0.0, scaled)


CREDIT = Credit(BranchGRPOConfig, from_function(compute), needs_in_training=("node",))
