"""Sequences with shared prefixes as a forest that stores each shared token once.

The forest only uses token ids: a model's output at a node is equal for every sequence through it.

Worked example, three sequences (the longer branch comes first, so that a trunk is contiguous)::

    sequences   5 6 7 8 | 5 6 9 | 5 6           nodes   0 1 2 3 | 0 1 4 | 0 1
    ids         5 6 7 8 9
    positions   0 1 2 3 2                       depth of each node in its tree

Letters: N nodes, T tokens of a sequence, S sequences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cairn.core.records import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Distinct prefixes, parents before children, every subtree contiguous."""

    ids_N: IntArray  # last token of each prefix
    positions_N: IntArray  # number of tokens before it
    nodes: tuple[IntArray, ...]  # S arrays [T]: the node of each token of each sequence


@dataclass(slots=True)
class _Branch:
    """Nodes between two forks, or between a fork and a leaf."""

    stop: int  # depth after the last node
    row: int  # a sequence through it
    tallest: int  # largest depth below it
    ending: list[int] = field(default_factory=list)  # sequences whose last token is its last node
    children: list[_Branch] = field(default_factory=list)

    def adopt(self, child: _Branch) -> None:
        self.children.append(child)
        self.tallest = max(self.tallest, child.tallest)


def in_order(sequences: Sequence[IntArray]) -> list[int]:
    """Return indices of sequences, sorted by ids: long common prefixes become neighbours."""
    keys = [np.asarray(ids, ">u4").tobytes() for ids in sequences]  # bytes of this order sort like the ids
    return sorted(range(len(sequences)), key=keys.__getitem__)


def shared_prefix(one: IntArray, other: IntArray) -> int:
    """Return the length of the common prefix of two sequences."""
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length


def make_tree(sequences: Sequence[IntArray]) -> Tree:
    """Return the forest of one or more nonempty sequences.

    Sequences may be equal or prefixes of others.
    """
    ids, positions = [], []
    nodes = list(sequences)
    path = np.empty(max(map(len, sequences)), np.int32)
    count = 0
    for start, branch in _in_preorder(_branches(sequences)):
        num_nodes = branch.stop - start
        ids.append(sequences[branch.row][start : branch.stop])
        positions.append(np.arange(start, branch.stop, dtype=np.int32))
        path[start : branch.stop] = np.arange(count, count + num_nodes)
        count += num_nodes
        for row in branch.ending:
            nodes[row] = path[: branch.stop].copy()
    return Tree(ids_N=np.concatenate(ids), positions_N=np.concatenate(positions), nodes=tuple(nodes))


def without_sharing(sequences: Sequence[IntArray]) -> Tree:
    """Return the forest in which every sequence has nodes of its own."""
    stops = np.cumsum([len(ids) for ids in sequences])
    return Tree(
        ids_N=np.concatenate(sequences),
        positions_N=np.concatenate([np.arange(len(ids), dtype=np.int32) for ids in sequences]),
        nodes=tuple(np.arange(stop - len(ids), stop) for ids, stop in zip(sequences, stops, strict=True)),
    )


def _branches(sequences: Sequence[IntArray]) -> _Branch:
    """Return the root, which has no node.

    Sorted sequences are leaves; neighbours fork at their first difference.
    """
    root = _Branch(stop=0, row=0, tallest=0)
    stack, before = [root], np.empty(0, np.int32)
    for row in in_order(sequences):
        _close(stack, shared_prefix(before, sequences[row]))
        before = sequences[row]
        if len(before) > stack[-1].stop:
            stack.append(_Branch(stop=len(before), row=row, tallest=len(before)))
        stack[-1].ending.append(row)
    _close(stack, 0)
    return root


def _close(stack: list[_Branch], depth: int) -> None:
    """Attach all branches that end below `depth` to the branches from which they fork."""
    while stack[-1].stop > depth:
        done = stack.pop()
        if stack[-1].stop < depth:
            stack.append(_Branch(stop=depth, row=done.row, tallest=depth))
        stack[-1].adopt(done)


def _in_preorder(root: _Branch) -> Iterator[tuple[int, _Branch]]:
    """Yield branches and the depths at which they start; the tallest sibling comes first."""
    stack = [(0, root)]
    while stack:
        start, branch = stack.pop()
        yield start, branch
        children = sorted(branch.children, key=lambda child: child.tallest)
        stack.extend((branch.stop, child) for child in children)
