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


# Three episodes of one task that meet in s0 (all of them) and in s1 (the first two).
A = [("s0", 0.0), ("s1", 0.0), ("s2", 1.0)]
B = [("s0", 0.0), ("s1", 0.0), ("s3", 0.0)]
C = [("s0", 0.0), ("s4", 1.0)]
