"""Step tables for tests of credit: the worked example of three episodes, and small ones made on the spot."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.core.table import StepTable


def table(
    *episodes: Sequence[tuple[str, float]], groups: Sequence[int] | None = None, invalid: Sequence[int] = ()
) -> StepTable:
    """Return the table of episodes of (state, reward) steps; `invalid` holds numbers of rows."""
    rows = [(e, t, state, reward) for e, steps in enumerate(episodes) for t, (state, reward) in enumerate(steps)]
    return StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, _, _, _ in rows],
        episode=[e for e, _, _, _ in rows],
        turn=[t for _, t, _, _ in rows],
        anchor=[int.from_bytes(state.encode(), "big") for _, _, state, _ in rows],
        action=list(range(len(rows))),
        reward=[reward for _, _, _, reward in rows],
        valid=[row not in invalid for row in range(len(rows))],
    )


def outcomes(*rewards: float, groups: Sequence[int] | None = None) -> StepTable:
    """Return the table of one-step episodes, each in a state of its own."""
    return table(*([(f"state {i}", reward)] for i, reward in enumerate(rewards)), groups=groups)


def tree(
    *paths: tuple[Sequence[int], float], groups: Sequence[int] | None = None, with_nodes: bool = True
) -> StepTable:
    """Return the table of root-to-leaf episodes: (nodes stepped to, score). Without nodes, the actions tell them."""
    rows = [(e, t, node) for e, (nodes, _) in enumerate(paths) for t, node in enumerate(nodes)]
    return StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, *_ in rows],
        episode=[e for e, *_ in rows],
        turn=[t for _, t, _ in rows],
        anchor=[paths[e][0][t - 1] if t else 99 for e, t, _ in rows],
        action=[node + 1000 * (e if with_nodes else 0) for e, _, node in rows],
        reward=[paths[e][1] * (t == len(paths[e][0]) - 1) for e, t, _ in rows],
        node=[node for *_, node in rows] if with_nodes else None,
    )


def played(*episodes: Sequence[tuple[int, float]], groups: Sequence[int] | None = None) -> StepTable:
    """Return the table of episodes of (who acted, reward) steps, each in a state of its own."""
    rows = [(e, t, role, reward) for e, steps in enumerate(episodes) for t, (role, reward) in enumerate(steps)]
    return StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, *_ in rows], episode=[e for e, *_ in rows],
        turn=[t for _, t, *_ in rows], anchor=range(len(rows)), action=range(len(rows)),
        role=[role for *_, role, _ in rows], reward=[reward for *_, reward in rows],
    )  # fmt: skip


# Three episodes of one task that meet in s0 (all of them) and in s1 (the first two).
A = [("s0", 0.0), ("s1", 0.0), ("s2", 1.0)]
B = [("s0", 0.0), ("s1", 0.0), ("s3", 0.0)]
C = [("s0", 0.0), ("s4", 1.0)]
