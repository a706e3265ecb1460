"""A group's trajectory graph as a picture: positions and sizes of states, styles of edges.

An edge's colour is the mean advantage of its steps under the chosen method, in seven tones of a scale that ends at the
95th percentile of the group's absolute advantages. An edge whose mean has another sign under the compared method is
marked. Above `MOST_NODES` states, the least visited of each layer are merged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cairn.core.table import Floats
from cairn.trainer.credit.trajectory_graph import TrajectoryGraph

GAP_X, GAP_Y, MARGIN = 132, 68, 66
_SWEEPS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLayout:
    """The position of each node, and the size of the picture."""

    places: tuple[tuple[float, float], ...]  # x, y by node
    width: float
    height: float


def layered(layers: Sequence[int], edges: Mapping[tuple[int, int], int]) -> GraphLayout:
    """Return positions for nodes with these layers; `edges` maps (tail, head) to its count."""
    rows: dict[int, list[int]] = {}
    for node, layer in enumerate(layers):
        rows.setdefault(layer, []).append(node)
    order = [rows[layer] for layer in sorted(rows)]
    near = _neighbours(len(layers), edges)
    for sweep in range(_SWEEPS):
        _sweep(order if sweep % 2 == 0 else order[::-1], near)
    tallest = max(map(len, order), default=1)
    places = [(0.0, 0.0)] * len(layers)
    for column, row in enumerate(order):
        top = MARGIN + (tallest - len(row)) * GAP_Y / 2
        for place, node in enumerate(row):
            places[node] = (MARGIN + column * GAP_X, top + place * GAP_Y)
    return GraphLayout(
        places=tuple(places),
        width=2 * MARGIN + (len(order) - 1) * GAP_X + 60,
        height=2 * MARGIN + (tallest - 1) * GAP_Y + 20,
    )


def curve(tail: tuple[float, float], head: tuple[float, float], radii: tuple[float, float], lane: int) -> str:
    """Return the path of an edge; `lane` numbers parallel edges from 0."""
    (x, y), (u, v), (from_r, to_r) = tail, head, radii
    if tail == head:
        size = 16 + 7 * lane
        return f"M{x - 4:g} {y - from_r:g}C{x - size:g} {y - from_r - 1.5 * size:g} " + (
            f"{x + size:g} {y - from_r - 1.5 * size:g} {x + 4:g} {y - to_r:g}"
        )
    bend = (lane + 1) // 2 * (14 if lane % 2 else -14)
    if u > x:
        half = (u - x) / 2
        return f"M{x + from_r:g} {y:g}C{x + half:g} {y + bend:g} {u - half:g} {v + bend:g} {u - to_r - 4:g} {v:g}"
    drop = 26 + (x - u) / 12 + abs(bend)
    return f"M{x:g} {y + from_r:g}C{x:g} {max(y, v) + drop:g} {u:g} {max(y, v) + drop:g} {u:g} {v + to_r + 4:g}"


def _neighbours(count: int, edges: Mapping[tuple[int, int], int]) -> list[list[tuple[int, int]]]:
    near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (tail, head), weight in edges.items():
        if tail != head:
            near[tail].append((head, weight))
            near[head].append((tail, weight))
    return near


def _sweep(order: Sequence[list[int]], near: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Sort each layer by the mean position of its nodes' neighbours in the layers before it."""
    place: dict[int, float] = {}
    for row in order:
        old = {node: i - (len(row) - 1) / 2 for i, node in enumerate(row)}
        mean = {node: _mean(near[node], place, old[node]) for node in row}
        row.sort(key=lambda node: (mean[node], old[node]))
        place |= {node: i - (len(row) - 1) / 2 for i, node in enumerate(row)}


def _mean(near: Sequence[tuple[int, int]], place: Mapping[int, float], otherwise: float) -> float:
    known = [(place[node], weight) for node, weight in near if node in place]
    total = sum(weight for _, weight in known)
    return sum(at * weight for at, weight in known) / total if total else otherwise


MOST_NODES = 300
_TONES = 3  # on each side of zero


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A state, several merged states, or an end."""

    id: int  # id in the graph; for merged states, the first
    kind: str  # state, open, success, failure or others
    key: int | None  # anchor; None: an end or several states
    merged: int  # number of merged states
    visits: int
    success_rate: float
    x: float
    y: float
    radius: float
    is_changed: bool  # an outgoing edge is changed


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """The steps with one action from one drawn node to another."""

    tail: int  # index in the picture's nodes
    head: int
    action: int | None  # key; None: several actions
    steps: tuple[int, ...]  # the group's rows
    first: float  # mean advantage under the chosen method
    second: float  # mean advantage under the compared method
    path: str
    width: float
    tone: int  # -3..3
    is_changed: bool  # the signs of the two means differ
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPicture:
    """The drawn nodes and edges, and counts of the merged ones."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    layout: GraphLayout
    scale: float  # advantage of the strongest colour
    num_states: int
    num_merged: int  # states that were merged
    num_changed: int


def picture(graph: TrajectoryGraph, first: Floats, second: Floats) -> GraphPicture:
    """Return the picture of a group whose rows have these advantages under two methods."""
    layer = _layers(graph)
    shown = _shown(graph, layer)  # graph node -> node of the picture
    members: dict[int, list[int]] = {}
    for node, to in enumerate(shown):
        if to >= 0:
            members.setdefault(to, []).append(node)
    steps = _steps(graph, shown, members)
    between: dict[tuple[int, int], int] = {}
    for (tail, head, _), rows in steps.items():
        between[tail, head] = between.get((tail, head), 0) + len(rows)
    layout = layered([layer[members[i][0]] for i in range(len(members))], between)
    radii = [_radius(sum(graph.visits(graph.nodes[n]) for n in members[i])) for i in range(len(members))]
    scale = float(np.quantile(np.abs(first), 0.95)) or float(np.abs(first).max(initial=0.0)) or 1.0
    edges = _edges(steps, first, second, layout, radii, scale)
    changed = {edge.tail for edge in edges if edge.is_changed}
    return GraphPicture(
        nodes=tuple(_node(graph, i, members[i], layout, radii[i], i in changed) for i in range(len(members))),
        edges=edges,
        layout=layout,
        scale=scale,
        num_states=len(graph.keys),
        num_merged=sum(len(found) for found in members.values() if len(found) > 1),
        num_changed=sum(edge.is_changed for edge in edges),
    )


def tone(value: float, scale: float) -> int:
    """Return a colour number from -3 to 3; 0: close to zero."""
    return int(np.clip(round(_TONES * value / scale), -_TONES, _TONES)) if scale > 0 else 0


def _layers(graph: TrajectoryGraph) -> list[int]:
    """Return the first turn at which an episode was in each node; the ends come last."""
    count = len(graph.nodes)
    layer = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(layer, graph.tail, graph.steps.turn)
    np.minimum.at(layer, graph.head, graph.steps.turn + 1)
    layer[-2:] = int(graph.steps.turn.max()) + 1
    return [int(n) for n in layer]


def _shown(graph: TrajectoryGraph, layer: Sequence[int]) -> list[int]:
    """Return each node's index among the drawn nodes; -1: an end that no episode reached."""
    states = range(len(graph.keys))
    kept = set(states)
    if len(graph.keys) > MOST_NODES:
        room = max(MOST_NODES - len(set(layer)), 0)
        kept = set(sorted(states, key=lambda n: (-graph.visits(graph.nodes[n]), layer[n], n))[:room])
    numbers: dict[object, int] = {}
    shown = []
    for node in range(len(graph.nodes)):
        if node not in states and not graph.visits(graph.nodes[node]):
            shown.append(-1)
            continue
        name = node if node in kept or node not in states else ("others", layer[node])
        shown.append(numbers.setdefault(name, len(numbers)))
    return shown


def _steps(
    graph: TrajectoryGraph, shown: Sequence[int], members: Mapping[int, Sequence[int]]
) -> dict[tuple[int, int, int | None], list[int]]:
    """Return the rows of each drawn edge."""
    found: dict[tuple[int, int, int | None], list[int]] = {}
    for row, (tail, head, action) in enumerate(
        zip(graph.tail.tolist(), graph.head.tolist(), graph.steps.action.tolist(), strict=True)
    ):
        ends = shown[tail], shown[head]
        is_merged = any(len(members[end]) > 1 for end in ends)
        found.setdefault((*ends, None if is_merged else action), []).append(row)
    return found


def _edges(
    steps: Mapping[tuple[int, int, int | None], Sequence[int]],
    first: Floats,
    second: Floats,
    layout: GraphLayout,
    radii: Sequence[float],
    scale: float,
) -> tuple[DrawnEdge, ...]:
    lanes: dict[tuple[int, int], int] = {}
    edges = []
    for (tail, head, action), rows in steps.items():
        lane = lanes.get((tail, head), 0)
        lanes[tail, head] = lane + 1
        ours, theirs = float(first[list(rows)].mean()), float(second[list(rows)].mean())
        (x, y), (u, v) = layout.places[tail], layout.places[head]
        edges.append(
            DrawnEdge(
                tail=tail,
                head=head,
                action=action,
                steps=tuple(rows),
                first=ours,
                second=theirs,
                path=curve((x, y), (u, v), (radii[tail], radii[head]), lane),
                width=round(1.2 + 1.6 * np.log2(len(rows)), 1),
                tone=tone(ours, scale),
                is_changed=_sign(ours) * _sign(theirs) < 0,
                label_x=(x + u) / 2,
                label_y=(y + v) / 2 - 5 + 11 * lane - (radii[tail] + 22 if tail == head else 0),
            )
        )
    return tuple(edges)


def _sign(value: float) -> int:
    return 0 if abs(value) < 1e-9 else (1 if value > 0 else -1)


def _node(
    graph: TrajectoryGraph, number: int, members: Sequence[int], layout: GraphLayout, radius: float, changed: bool
) -> DrawnNode:
    nodes = [graph.nodes[n] for n in members]
    visits = [graph.visits(node) for node in nodes]
    rates = [graph.success_rate(node) for node in nodes]
    return DrawnNode(
        id=nodes[0].id,
        kind=nodes[0].kind if len(nodes) == 1 else "others",
        key=nodes[0].key if len(nodes) == 1 else None,
        merged=len(nodes),
        visits=sum(visits),
        success_rate=sum(v * r for v, r in zip(visits, rates, strict=True)) / max(sum(visits), 1),
        x=layout.places[number][0],
        y=layout.places[number][1],
        radius=radius,
        is_changed=changed,
    )


def _radius(visits: int) -> float:
    return round(min(5 + 1.6 * math.sqrt(visits), 20), 1)
