"""Forests of shared prefixes against a plain trie of dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.records import IntArray
from cairn.trainer.learner.prefix_tree import Tree, in_order, make_tree, shared_prefix, without_sharing

# Few ids, so that prefixes are often shared, and one beyond a byte.
LISTS = st.lists(st.lists(st.sampled_from([0, 1, 2, 256]), min_size=1, max_size=12), min_size=1, max_size=12)


def arrays(sequences: Sequence[Sequence[int]]) -> list[IntArray]:
    return [np.array(ids, np.int32) for ids in sequences]


def count(trie: dict[int, Any]) -> int:  # Any: a trie again
    return sum(1 + count(child) for child in trie.values())


def plain_trie(sequences: Sequence[Sequence[int]]) -> dict[int, Any]:  # Any: as above
    root: dict[int, Any] = {}
    for ids in sequences:
        at = root
        for token in ids:
            at = at.setdefault(token, {})
    return root


def parents(tree: Tree) -> list[int]:
    """The last node before with one token less; -1 for a root."""
    out = []
    for i, depth in enumerate(tree.positions_N):
        before = np.flatnonzero(tree.positions_N[:i] == depth - 1)
        out.append(int(before[-1]) if depth else -1)
    return out


def test_the_worked_example() -> None:
    tree = make_tree(arrays([[5, 6, 9], [5, 6, 7, 8], [5, 6]]))
    assert tree.ids_N.tolist() == [5, 6, 7, 8, 9]
    assert tree.positions_N.tolist() == [0, 1, 2, 3, 2]
    assert [nodes.tolist() for nodes in tree.nodes] == [[0, 1, 4], [0, 1, 2, 3], [0, 1]]


def test_without_sharing_every_sequence_has_its_own_nodes_in_the_given_order() -> None:
    tree = without_sharing(arrays([[5, 6, 9], [5, 6], [4]]))
    assert tree.ids_N.tolist() == [5, 6, 9, 5, 6, 4]
    assert tree.positions_N.tolist() == [0, 1, 2, 0, 1, 0]
    assert [nodes.tolist() for nodes in tree.nodes] == [[0, 1, 2], [3, 4], [5]]


def test_sequences_that_share_nothing_lie_end_to_end() -> None:
    tree = make_tree(arrays([[3, 4], [1, 2, 5]]))
    assert tree.ids_N.tolist() == [1, 2, 5, 3, 4]
    assert tree.positions_N.tolist() == [0, 1, 2, 0, 1]


@given(LISTS)
def test_every_distinct_prefix_has_one_node(sequences: list[list[int]]) -> None:
    tree = make_tree(arrays(sequences))
    assert len(tree.ids_N) == len(tree.positions_N) == count(plain_trie(sequences))
    found = {tuple(ids[: i + 1]): int(n) for ids, nodes in zip(sequences, tree.nodes, strict=True)
             for i, n in enumerate(nodes)}  # fmt: skip
    assert sorted(found.values()) == list(range(len(tree.ids_N)))


@given(LISTS)
def test_the_nodes_of_a_sequence_spell_it_from_a_root_to_its_end(sequences: list[list[int]]) -> None:
    tree = make_tree(arrays(sequences))
    above = parents(tree)
    for ids, nodes in zip(sequences, tree.nodes, strict=True):
        assert tree.ids_N[nodes].tolist() == ids
        assert [above[n] for n in nodes] == [-1, *nodes[:-1].tolist()]


@given(LISTS)
def test_of_siblings_the_tallest_comes_first(sequences: list[list[int]]) -> None:
    tree = make_tree(arrays(sequences))
    above = parents(tree)
    tallest = tree.positions_N.tolist()
    for i in reversed(range(len(above))):
        if above[i] >= 0:
            tallest[above[i]] = max(tallest[above[i]], tallest[i])
    for parent in set(above):
        heights = [tallest[i] for i in range(len(above)) if above[i] == parent]
        assert heights == sorted(heights, reverse=True)


@given(LISTS)
def test_order_puts_sequences_that_share_most_side_by_side(sequences: list[list[int]]) -> None:
    made = arrays(sequences)
    assert [sequences[i] for i in in_order(made)] == sorted(sequences)


@pytest.mark.parametrize(
    ("one", "other", "expected"), [([1, 2], [1, 3], 1), ([1, 2], [1, 2, 3], 2), ([1], [2], 0), ([], [1], 0)]
)
def test_shared_prefixes(one: list[int], other: list[int], expected: int) -> None:
    assert shared_prefix(*arrays([one, other])) == shared_prefix(*arrays([other, one])) == expected
