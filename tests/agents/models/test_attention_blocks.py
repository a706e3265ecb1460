"""Blocks of attention against the relation of ancestors, node by node, and their cost against the minimum."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cairn.agents.models.attention_blocks import make_forest, stacked
from cairn.core.records import IntArray


@st.composite
def depths(draw: st.DrawFn) -> IntArray:
    """Chains that fork off somewhere above where the last one ended, some long enough to be cut."""
    out: list[int] = []
    for _ in range(draw(st.integers(1, 12))):
        start = draw(st.integers(0, out[-1] + 1)) if out else 0
        out += range(start, start + draw(st.sampled_from([1, 2, 7, 16, 40, 300])))
    return np.array(out, np.int32)


def paths(positions_N: IntArray) -> list[list[int]]:
    """Return each token's ancestors and itself."""
    out: list[list[int]] = []
    path: list[int] = []
    for i, depth in enumerate(positions_N):
        path = [*path[:depth], i]
        out.append(path)
    return out


def trunk_with_leaves(turns: int, step: int, leaf: int) -> IntArray:
    """A trunk with a leaf after every `step` tokens, the last one first."""
    trunk = np.arange(turns * step)
    leaves = [np.arange(i * step, i * step + leaf) for i in range(turns - 1, 0, -1)]
    return np.concatenate([trunk, *leaves]).astype(np.int32)


@given(depths())
def test_blocks_hold_every_token_once_and_all_that_it_looks_at(positions_N: IntArray) -> None:
    forest, expected = make_forest(positions_N), paths(positions_N)
    covered = [i for block in forest.blocks for i in range(block.start, block.stop)]
    assert covered == list(range(len(positions_N)))
    for block in forest.blocks:
        assert block.ancestors_A.tolist() == expected[block.start][:-1]
        keys = block.keys
        for i in range(block.start, block.stop):
            is_seen = (keys <= i) & (i < forest.ends_N[keys])
            assert keys[is_seen].tolist() == expected[i]


@given(depths())
def test_a_chain_is_a_sequence_from_its_first_token(positions_N: IntArray) -> None:
    for block in make_forest(positions_N).blocks:
        own = positions_N[block.start : block.stop]
        assert block.is_chain == (own.tolist() == list(range(len(own))))


@given(st.lists(st.integers(1, 700), min_size=1, max_size=20))
def test_sequences_end_to_end_are_a_block_each(lengths: list[int]) -> None:
    blocks = make_forest(np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])).blocks
    assert [block.num_queries for block in blocks] == lengths
    assert all(block.is_chain for block in blocks)


@given(depths())
def test_stacks_hold_every_block_once_and_pad_little(positions_N: IntArray) -> None:
    blocks = make_forest(positions_N).blocks
    stacks = list(stacked(blocks))
    assert sorted(block.start for stack in stacks for block in stack) == [block.start for block in blocks]
    for stack in stacks:
        assert len({block.is_chain for block in stack}) == 1
        queries, keys = [b.num_queries for b in stack], [b.num_keys for b in stack]
        assert len(stack) * max(queries) <= 1.05 * sum(queries)
        assert len(stack) * max(keys) <= 1.15 * sum(keys)


def test_blocks_cost_little_more_than_the_minimum() -> None:
    # 40 turns of 30 tokens, each with 20 or 120 more that only its prompt has
    for leaf in (20, 120):
        positions_N = trunk_with_leaves(40, 30, leaf)
        blocks = make_forest(positions_N).blocks
        needed = sum(int(depth) + 1 for depth in positions_N)
        pairs = sum(b.num_queries * b.num_keys / (2 if b.is_chain else 1) for b in blocks)
        assert pairs < 1.15 * needed
        assert sum(b.num_keys for b in blocks) < 6 * len(positions_N)
        assert len(positions_N) ** 2 > 2.5 * needed
