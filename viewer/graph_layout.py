"""Where the states of a trajectory graph are drawn: in layers, from the start to the right.

A state's layer is the first turn at which an episode was there; the ends stand last. Within a layer states stand where
those stand that they are joined with (barycentres, four sweeps). No chance: the same graph always looks the same.
Units are those of the picture, in which a letter is about 6 wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GAP_X, GAP_Y, MARGIN = 132, 68, 66
_SWEEPS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where each node is, and how large the picture is."""

    places: tuple[tuple[float, float], ...]  # x, y by node
    width: float
    height: float


def layered(layers: Sequence[int], edges: Mapping[tuple[int, int], int]) -> Layout:
    """Return places for nodes with these layers; `edges` have (tail, head) and how often they were taken."""
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
    return Layout(
        places=tuple(places),
        width=2 * MARGIN + (len(order) - 1) * GAP_X + 60,
        height=2 * MARGIN + (tallest - 1) * GAP_Y + 20,
    )


def curve(tail: tuple[float, float], head: tuple[float, float], radii: tuple[float, float], lane: int) -> str:
    """Return the path of an edge; `lane` tells those between the same two nodes apart, from 0."""
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
    """Sort each layer by the mean place of what its nodes are joined with, in layers that were placed before it."""
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
