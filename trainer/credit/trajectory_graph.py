"""The trajectory graph of one group: states, the steps between them, and queries on both.

It only counts recorded steps. It computes no credit (see `cairn.trainer.credit`), draws nothing and holds no texts: the
caller provides labels for keys. A recorded path is any chain of edges, including edges from different episodes.

Worked example, an episode ``hall go kitchen, kitchen open WIN`` and one ``hall go kitchen, kitchen wait LOSE``::

    node      hall  kitchen  success  failure        edge      hall go kitchen  kitchen open ->  kitchen wait ->
    visits      2      2        1        1           visits           2                1                1
    rate       1/2    1/2       1        0           rate            1/2               1                0

Building costs O(N log N) in N steps. `Node` and `Edge` objects are created on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import networkx as nx
import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from cairn.core.errors import CairnError
from cairn.core.keys import mix_keys
from cairn.core.table import Flags, Floats, Ids, Keys, StepTable
from cairn.core.text import printable
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.graph import build_graph
from cairn.trainer.credit.kernel.segments import segments

Kind = Literal["state", "open", "success", "failure"]

_STOPPED = np.uint64(0x0FE2)  # scope of the keys of open ends with unknown state keys
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;", "\n": "\\n"})  # escapes of a quoted label in DOT
_SHAPES = {"state": "box", "open": "box, style=dashed", "success": "doublecircle", "failure": "octagon"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A state, or one of the two ends."""

    id: int  # its index in `TrajectoryGraph.nodes`
    kind: Kind  # open: the last state of an episode that a budget cut, without outgoing steps
    key: int | None  # 64 bits; None: one of the two ends
    label: str  # the caller's name of the key, else its 16 hex digits; for the two ends, the kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """All steps that took one action in one state and led to one state."""

    id: int  # its index in `TrajectoryGraph.edges`
    tail: Node
    head: Node
    action: int  # 64-bit key
    label: str  # the caller's name of the action, else its 16 hex digits
    occurrences: tuple[tuple[int, int], ...]  # (episode, turn), ascending, at least one; episode: number in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """A state at which successful and unsuccessful episodes leave by different edges."""

    node: Node
    edges: tuple[Edge, ...]  # all outgoing edges, highest success rate first
    spread: float  # highest success rate minus lowest, 0..1


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A repeated visit of one episode to a state."""

    node: Node
    episode: int  # number in the table
    turns: tuple[int, ...]  # turns of the visits, two or more; the episode's length: a budget ended it there


@dataclass(frozen=True, eq=False, kw_only=True)
class TrajectoryGraph:
    """The N steps of one group over V states.

    Node V is the success end, node V + 1 the failure end. A successful episode leads to the success end, any other
    terminated episode to the failure end. An unsuccessful episode cut by a budget stops in the state after its last
    step; a state without outgoing steps is an open end.
    """

    steps: StepTable  # the group's N rows, its episodes counted from 0
    first_episode: int  # table number of the group's first episode; the others follow
    tail: Ids  # [N] node before the step
    head: Ids  # [N] node after the step
    edge: Ids  # [N] dense ids of (tail, action, head), ascending by tail
    keys: Keys  # [V] ascending
    labels: Mapping[int, str]  # names of state keys and action keys; empty: none

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """States in the order of their keys, then the success end and the failure end."""
        num_steps = np.bincount(self.tail, minlength=len(self.keys)).tolist()
        states = [
            Node(id=i, kind="state" if n else "open", key=key, label=self._label(key))
            for i, (key, n) in enumerate(zip(self.keys.tolist(), num_steps, strict=True))
        ]
        ends: tuple[Kind, ...] = ("success", "failure")
        return (*states, *(Node(id=i, kind=kind, key=None, label=kind) for i, kind in enumerate(ends, len(states))))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Edges, ordered by their tail states."""
        rows, nodes = np.argsort(self.edge, kind="stable"), self.nodes
        stop = np.cumsum(np.bincount(self.edge))
        start = np.append(0, stop[:-1])
        episode, turn = self.steps.episode[rows] + self.first_episode, self.steps.turn[rows]
        seen = list(zip(episode.tolist(), turn.tolist(), strict=True))
        columns = (start, stop, *(x[rows[start]] for x in (self.tail, self.head, self.steps.action)))
        return tuple(
            Edge(id=i, tail=nodes[t], head=nodes[h], action=a, label=self._label(a), occurrences=tuple(seen[b:e]))
            for i, (b, e, t, h, a) in enumerate(zip(*(x.tolist() for x in columns), strict=True))
        )

    @property
    def ends(self) -> tuple[Node, Node]:
        """The success end and the failure end."""
        return self.nodes[-2], self.nodes[-1]

    @property
    def starts(self) -> tuple[Node, ...]:
        """The initial states of episodes, in the order of `nodes`."""
        return self._nodes(np.unique(self.tail[self.steps.turn == 0]))

    def state(self, key: int) -> Node:
        """Return the node of a state key, or raise a CairnError if no episode visited the state."""
        found = int(np.searchsorted(self.keys, np.uint64(key))) if 0 <= key < 1 << 64 else len(self.keys)
        if found == len(self.keys) or int(self.keys[found]) != key:
            raise CairnError(f"TrajectoryGraph: no episode of the group was in a state of key {key!r}")
        return self.nodes[found]

    def edges_from(self, node: Node) -> tuple[Edge, ...]:
        """Return the outgoing edges of a node, in the order of `edges`; ends have none."""
        begin, end = np.searchsorted(self._tail_of_edge, [self._id(node), self._id(node) + 1])
        return self.edges[begin:end]

    def visits(self, part: Node | Edge) -> int:
        """Return the number of visits to a node, or of traversals of an edge, with repetitions.

        An episode of T steps makes T + 1 visits to nodes: one per step, and one to the node after the last step. The
        result is at least 1, except 0 for an end that no episode reached.
        """
        return int(self._tallies[type(part)][0][self._id(part)])

    def success_rate(self, part: Node | Edge) -> float:
        """Return the success rate of the distinct episodes through a node or an edge, 0..1.

        An episode counts once, even with repeated visits. An episode cut by a budget counts by its `success` in the
        table, which is usually False. The success end has 1 and the failure end 0, even if no episode reached them.
        """
        return float(self._tallies[type(part)][1][self._id(part)])

    def divergence_points(self) -> tuple[Divergence, ...]:
        """Return the states where successful and unsuccessful episodes leave by different edges.

        Ordered by spread, the highest success rate of the outgoing edges minus the lowest, largest first; then by
        visits, most first. The spread is 0 if all edges have equal success rates. Empty where all episodes have one
        outcome.
        """
        rate = self._tallies[Edge][1]
        wins, losses = rate > 0, rate < 1  # an edge is taken by at least one episode
        tail = self._tail_of_edge
        won, lost, both = (np.bincount(tail[x], minlength=len(self.nodes)) for x in (wins, losses, wins & losses))
        found = []
        for i in np.flatnonzero(won * lost > both).tolist():
            edges = sorted(self.edges_from(self.nodes[i]), key=lambda edge: (-self.success_rate(edge), edge.id))
            spread = self.success_rate(edges[0]) - self.success_rate(edges[-1])
            found.append(Divergence(node=self.nodes[i], edges=tuple(edges), spread=spread))
        return tuple(sorted(found, key=lambda at: (-at.spread, -self.visits(at.node), at.node.id)))

    def loops(self) -> tuple[Loop, ...]:
        """Return every repeated visit of an episode to a state, by episode, then by turns.

        A step that does not change the state is also a loop. So is the end of an episode, by a budget, in a state that
        it had visited: the last turn is then the episode's length.
        """
        node, episode, turn, _ = self._stays
        own = segments(episode, node.astype(np.uint64))
        rows = np.argsort(own, kind="stable")  # turns ascend within an episode
        count = np.bincount(own)
        stop = np.cumsum(count)
        found = [
            Loop(node=self.nodes[node[of[0]]], episode=int(episode[of[0]]), turns=tuple(turn[of].tolist()))
            for of in (rows[stop[i] - count[i] : stop[i]] for i in np.flatnonzero(count > 1))
        ]
        return tuple(sorted(found, key=lambda loop: (loop.episode, loop.turns)))

    def dead_ends(self) -> tuple[Node, ...]:
        """Return the states without a recorded path to a success, in the order of `nodes`.

        The result includes open ends, which have no outgoing steps, but not the failure end. It contains all states if
        no episode succeeded.
        """
        return self._nodes(np.flatnonzero(self._next_to_success[: len(self.keys)] < 0))

    def shortest_success(self, node: Node) -> tuple[Edge, ...] | None:
        """Return the edges of a shortest recorded path to success; None if no path exists.

        The choice among several such paths is deterministic; among several edges between two nodes it is the most
        visited one. The path from the success end is empty.
        """
        here, path = self._id(node), []
        while here != len(self.keys):
            following = int(self._next_to_success[here])
            if following < 0:
                return None
            edges = [edge for edge in self.edges_from(self.nodes[here]) if edge.head.id == following]
            path.append(max(edges, key=lambda edge: (len(edge.occurrences), -edge.id)))
            here = following
        return tuple(path)

    def cut_states(self) -> tuple[Node, ...]:
        """Return the states on every recorded path to success from any start, in order.

        They are the dominators of the success end, without the end itself. A single start is a cut state; with several
        starts, none may be one. The result is empty if no episode succeeded.
        """
        success, root = len(self.keys), len(self.keys) + 2
        starts = self.tail[self.steps.turn == 0]
        onward = _arcs(np.append(self.tail, np.full_like(starts, root)), np.append(self.head, starts), root + 1)
        before = csgraph.breadth_first_order(onward, root)[1]
        if before[success] < 0:
            return ()
        path = [success]
        while path[-1] != root:
            path.append(int(before[path[-1]]))
        return self._nodes(_unavoidable(onward, path[::-1])[1:-1])

    def to_networkx(self) -> nx.MultiDiGraph[int]:
        """Return the graph for networkx, with the ids of nodes and edges.

        Attributes of both: label, visits, success_rate. Of nodes: key (hex digits; empty for the two ends), kind. Of
        edges: action (hex digits), occurrences ("episode:turn", separated by blanks). Unprintable characters are
        written as \\x and their hex digits, because XML, and so GraphML, does not allow some of them.
        """
        out: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        for node in self.nodes:
            key = "" if node.key is None else f"{node.key:016x}"
            out.add_node(node.id, key=key, kind=node.kind, **self._described(node))
        for edge in self.edges:
            seen = " ".join(f"{episode}:{turn}" for episode, turn in edge.occurrences)
            described = self._described(edge) | {"action": f"{edge.action:016x}", "occurrences": seen}
            out.add_edge(edge.tail.id, edge.head.id, edge.id, **described)
        return out

    def to_dot(self) -> str:
        """Return the graph in Graphviz's DOT language, with labels, visits and success rates.

        Labels are escaped, so that they appear unchanged, with line breaks; unprintable characters appear as \\x and
        their hex digits.
        """
        lines = [f"  {node.id} [shape={_SHAPES[node.kind]}, label={self._dot_label(node)}];" for node in self.nodes]
        lines += [f"  {edge.tail.id} -> {edge.head.id} [label={self._dot_label(edge)}];" for edge in self.edges]
        return "\n".join(["digraph trajectories {", "  rankdir=LR;", *lines, "}", ""])

    @cached_property
    def _stays(self) -> tuple[Ids, Ids, Ids, Flags]:
        """Node, episode, turn and success of every visit to a node.

        First the N rows, then E rows for the nodes in which episodes stopped.
        """
        steps, last = self.steps, self.steps.is_last
        episode = steps.episode + self.first_episode
        return (
            np.append(self.tail, self.head[last]),
            np.append(episode, episode[last]),
            np.append(steps.turn, steps.turn[last] + 1),
            np.append(steps.success, steps.success[last]),
        )

    @cached_property
    def _tallies(self) -> dict[type[Node | Edge], tuple[Ids, Floats]]:
        """Visits and success rates of all nodes and of all edges."""
        node, episode, _, is_success = self._stays
        visits, rate = _tally(node, episode, is_success, len(self.keys) + 2)
        rate[-2] = 1.0
        edges = _tally(self.edge, self.steps.episode, self.steps.success, len(self._tail_of_edge))
        return {Node: (visits, rate), Edge: edges}

    @cached_property
    def _tail_of_edge(self) -> Ids:
        return self.tail[np.unique(self.edge, return_index=True)[1]]

    @cached_property
    def _next_to_success(self) -> Ids:
        """The next node of a shortest path to success, [V + 2]; negative if there is no such node."""
        back = _arcs(self.head, self.tail, len(self.keys) + 2)
        return np.asarray(csgraph.breadth_first_order(back, len(self.keys))[1], np.int64)

    def _nodes(self, ids: Ids | list[int]) -> tuple[Node, ...]:
        return tuple(self.nodes[int(i)] for i in ids)

    def _id(self, part: Node | Edge) -> int:
        own: tuple[Node | Edge, ...] = self.nodes if isinstance(part, Node) else self.edges
        if part.id >= len(own) or own[part.id] != part:
            raise CairnError(f"TrajectoryGraph: expected a {type(part).__name__} of this graph, got {part!r}")
        return part.id

    def _label(self, key: int) -> str:
        return self.labels.get(key, f"{key:016x}")

    def _described(self, part: Node | Edge) -> dict[str, str | int | float]:
        return {"label": printable(part.label), "visits": self.visits(part), "success_rate": self.success_rate(part)}

    def _dot_label(self, part: Node | Edge) -> str:
        text = f"{printable(part.label)}\nvisits {self.visits(part)}, success {self.success_rate(part):.2f}"
        return f'"{text.translate(_ESCAPES)}"'


def trajectory_graph(
    table: StepTable, group: int = 0, *, key: str = "anchor", labels: Mapping[int, str] | None = None
) -> TrajectoryGraph:
    """Build the graph of one group.

    Args:
        table: the steps.
        group: the table's dense number of the group.
        key: name of the state key, as in `cairn.trainer.credit.kernel.keys`. Only the key "anchor" identifies the state
            in which a budget stopped an episode; with others, each such episode has its own open end.
        labels: names of state keys and of action keys.

    Raises:
        CairnError: the group does not exist, or the key is unknown.
    """
    num_groups = int(table.group.max(initial=-1)) + 1
    if not 0 <= group < num_groups:
        raise CairnError(f"trajectory_graph: expected a group below {num_groups}, got {group!r}")
    rows = slice(*np.searchsorted(table.group, [group, group + 1]).tolist())
    first_episode, own = int(table.episode[rows.start]), _only(table, rows)
    next_key = own.next_anchor if key == "anchor" else mix_keys(_STOPPED, own.episode.astype(np.uint64))
    key_of_row = keys.named(own, key)
    graph = build_graph(replace(own, truncated=own.truncated & ~own.success), key_of_row, next_key, "open")
    node_keys = np.empty(graph.num_nodes, np.uint64)
    node_keys[graph.tail] = key_of_row
    stopped = own.is_last & ~graph.ends
    node_keys[graph.head[stopped]] = next_key[stopped]
    head = graph.head + (graph.ends & ~own.success)
    return TrajectoryGraph(
        steps=own,
        first_episode=first_episode,
        tail=graph.tail,
        head=head,
        edge=segments(graph.pair, head.astype(np.uint64)),
        keys=node_keys,
        labels=labels or {},
    )


def _only(table: StepTable, rows: slice) -> StepTable:
    """Return the table of the rows of one group."""
    own: dict[str, Any] = {k: x[rows] for k, x in vars(table).items() if isinstance(x, np.ndarray)}  # Any: any dtype
    own |= {"group": own["group"] - own["group"][0], "episode": own["episode"] - own["episode"][0]}
    return replace(table, **own, channels={name: x[rows] for name, x in table.channels.items()})


def _tally(of: Ids, episode: Ids, is_success: Flags, count: int) -> tuple[Ids, Floats]:
    """Return the count of each id and the success rate of its distinct episodes (0 if none)."""
    first = np.unique(of * (int(episode.max()) + 1) + episode, return_index=True)[1]
    episodes = np.bincount(of[first], minlength=count)
    wins = np.bincount(of[first], is_success[first], count)
    return np.bincount(of, minlength=count), wins / np.maximum(episodes, 1)


def _arcs(tail: Ids, head: Ids, count: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(len(tail)), (tail, head)), shape=(count, count))


def _unavoidable(onward: sparse.csr_matrix, path: list[int]) -> list[int]:
    """Return the nodes of a path that every path between its ends passes, in order.

    Cost: O(V + E).

    The sweep along the path follows every branch that leaves the path up to its return. All paths pass a node if and
    only if no branch that left before it returns behind it.
    """
    bounds, heads = onward.indptr.tolist(), onward.indices.tolist()
    place = dict(zip(path, range(len(path)), strict=True))
    seen, furthest, out = set(path), 0, []
    for i, node in enumerate(path):
        if furthest == i:
            out.append(node)
        stack = [node]
        while stack:
            here = stack.pop()
            for head in heads[bounds[here] : bounds[here + 1]]:
                if head in place:
                    furthest = max(furthest, place[head])
                elif head not in seen:
                    seen.add(head)
                    stack.append(head)
    return out
