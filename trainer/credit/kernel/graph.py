"""The steps of every group as one graph: nodes are states, edges are steps.

Groups share no node.

Worked example, episode 1 ``s0 a u, u c END`` and episode 2 ``s0 b w, w d u, u c END``::

    row      s0a  uc  s0b  wd  uc
    tail      0    1   0    2   1
    head      1   END  2    1  END       END = 3, the number of nodes
    pair      0    1   2    3   1        (state, action), dense

Cost O(N log N) for the numbering, O(N) for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cairn.core.table import Flags, Ids, Keys, StepTable
from cairn.trainer.credit.kernel.segments import segments

Timeout = Literal["failure", "open"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """Node ids of N rows over V nodes; id V is the end, which is not a node."""

    tail: Ids  # [N] state before the step
    head: Ids  # [N] state after it; V where the episode ended
    pair: Ids  # [N] dense ids of (state, action)
    group_of_node: Ids  # [V]
    num_nodes: int  # V
    is_win: Flags  # [N] the step ended its episode and the episode is a success

    @property
    def ends(self) -> Flags:
        """Whether each step led to the end, [N]."""
        out: Flags = self.head == self.num_nodes
        return out

    @property
    def num_pairs(self) -> int:
        """The number of distinct state-action pairs."""
        return int(self.pair.max(initial=-1)) + 1


def build_graph(table: StepTable, key: Keys, next_key: Keys | None = None, timeout: Timeout = "failure") -> Graph:
    """Return the graph whose nodes are equal keys of one group.

    Args:
        table: the steps.
        key: key of the state before each step [N].
        next_key: key of the state after an episode's last step [N]; only used for open truncated episodes.
        timeout: the successor of an unsuccessful episode cut by a budget: the end, worth 0, or the state
            in which it stopped.
    """
    last = table.is_last
    is_open = last & table.truncated & ~table.success & (timeout == "open" and next_key is not None)
    keys = key if next_key is None else np.append(key, next_key[is_open])
    groups = np.append(table.group, table.group[is_open])[: len(keys)]
    node = segments(groups, keys)
    n, num_nodes = len(table), int(node.max()) + 1
    tail, head = node[:n], np.append(node[1:n], num_nodes)
    head[last] = num_nodes
    head[is_open] = node[n:]
    group_of_node = np.empty(num_nodes, np.int64)
    group_of_node[node] = groups
    return Graph(
        tail=tail,
        head=head,
        pair=segments(tail, table.action),
        group_of_node=group_of_node,
        num_nodes=num_nodes,
        is_win=last & table.success,
    )
