"""Cuts attention over a forest of tokens into blocks with little excess computation.

A forest is stored flat, parents before children and every subtree contiguous, so that the depths alone define it; a
plain sequence is a tree without forks. A token attends to its ancestors and to itself. So a span of tokens attends to
the span itself and, before it, only to the ancestors of its first token: any ancestor of a later token that lies before
the span is also an ancestor of the first token. Such a span is a block.

Large blocks include many keys that few of their queries need; small blocks copy long ancestor paths for few queries.
Each tree is cut so that the total cost of its blocks is smallest.

Letters: N tokens, A ancestors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cairn.core.records import IntArray

_KEY = 40  # cost of copying one key, in query-key pairs (measured forward and backward, heads 32 wide)
_LONGEST = 256  # maximum tokens of a block with a mask
_PIECE = 32  # blocks end at forks and at multiples of this many tokens between them
_SHORT = 16  # no cut at a fork with fewer tokens until the next one
_QUERY_PADDING = 0.05  # maximum padding of stacked blocks' queries
_KEY_PADDING = 0.15  # maximum padding of stacked blocks' keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Tokens `start` to `stop` and the tokens that they attend to."""

    start: int
    stop: int
    ancestors_A: IntArray  # of the first token, ascending
    is_chain: bool  # each token's parent is the previous token, and the first token is a root

    @property
    def num_queries(self) -> int:
        """Number of queries."""
        return self.stop - self.start

    @property
    def num_keys(self) -> int:
        """Number of keys."""
        return len(self.ancestors_A) + self.num_queries

    @property
    def keys(self) -> IntArray:
        """The tokens attended to, in ascending order."""
        return np.append(self.ancestors_A, np.arange(self.start, self.stop, dtype=np.int32))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """The blocks of a forest; each token is in exactly one."""

    blocks: list[Block]
    ends_N: IntArray  # index after each token's last descendant: j is i or an ancestor of i iff j <= i < ends[j]


def make_forest(positions_N: IntArray) -> Forest:
    """Return the blocks of the forest with these depths."""
    num_tokens = len(positions_N)
    jumps = np.flatnonzero(np.diff(positions_N, prepend=-2) != 1)  # includes the first token
    runs = list(itertools.pairwise([*jumps.tolist(), num_tokens]))
    starts = _cuts(positions_N, runs)
    is_root = positions_N == 0
    ends_N = np.full(num_tokens, num_tokens, np.int32)
    path = np.empty(positions_N.max(initial=0) + 1, np.int32)
    blocks, depth, block = [], 0, 0
    for start, stop in runs:
        ends_N[path[positions_N[start] : depth]] = start
        depth = int(positions_N[start]) + stop - start
        path[positions_N[start] : depth] = np.arange(start, stop)
        while block < len(starts) - 1 and starts[block] < stop:
            first, behind = starts[block : block + 2]
            ancestors = path[: positions_N[first]].copy()
            blocks.append(
                Block(start=first, stop=behind, ancestors_A=ancestors, is_chain=bool(is_root[first]) and behind <= stop)
            )
            block += 1
    return Forest(blocks=blocks, ends_N=ends_N)


def stacked(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield blocks of similar size, to be padded to the largest.

    Chains are separate from blocks that need a mask.
    """

    def size(block: Block) -> tuple[bool, int, int]:
        return block.is_chain, int(np.log(block.num_queries) / np.log1p(_QUERY_PADDING)), block.num_keys

    for _, alike in itertools.groupby(sorted(blocks, key=size), key=lambda block: size(block)[:2]):
        stack: list[Block] = []
        num_keys = 0
        for block in alike:
            num_keys += block.num_keys
            if stack and (len(stack) + 1) * block.num_keys > (1 + _KEY_PADDING) * num_keys:
                yield stack
                stack, num_keys = [], block.num_keys
            stack.append(block)
        yield stack


def _cuts(positions_N: IntArray, runs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the block starts, and N at the end."""
    cuts: list[int] = []
    for tree in _trees(positions_N, runs):
        cuts += _cheapest(tree, positions_N[tree[:-1]].tolist())
    return [*cuts, len(positions_N)]


def _trees(positions_N: IntArray, runs: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield for each tree the possible block starts and its end.

    The part before the first fork is one piece.
    """
    places: list[int] = []
    trunk = 0
    for start, stop in runs:
        if positions_N[start] == 0:
            if places:
                yield [*places, start]
            places = [start]
            trunk = stop
        elif start == trunk or stop - start >= _SHORT:
            places += range(start, max(stop - _SHORT, start) + 1, _PIECE)
    if places:
        yield [*places, runs[-1][1]]


def _cheapest(places: Sequence[int], depths: Sequence[int]) -> list[int]:
    """Return the block starts of lowest total cost, by a shortest path.

    A block's cost is its number of query-key pairs, half of them in a chain, plus the cost of copying its keys.
    """
    costs, ways = [0.0], [0]
    for last in range(1, len(places)):
        best, way = float("inf"), last - 1
        for first in range(last - 1, -1, -1):
            queries = places[last] - places[first]
            if queries > _LONGEST and first < last - 1:
                break
            keys = depths[first] + queries
            seen = queries / 2 if depths[first] == 0 and last == 1 else queries
            if (cost := costs[first] + (seen + _KEY) * keys) < best:
                best, way = cost, first
        costs.append(best)
        ways.append(way)
    starts, last = [], len(places) - 1
    while last > 0:
        last = ways[last]
        starts.append(places[last])
    return starts[::-1]
