"""Numbers about one update's episodes, for people and for plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cairn.core.records import Episode
from cairn.core.table import Floats, StepTable


def episode_metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return means over scored episodes and counts of the others."""
    scored = [e for e in episodes if not e.is_failed]
    count = max(len(scored), 1)
    endings = Counter(e.ending.cause for e in episodes if e.ending.kind != "terminated")
    return {
        "success": sum(bool(e.success) for e in scored) / count,
        "return": sum(e.total_reward for e in scored) / count,
        "turns": sum(len(e.turns) for e in scored) / count,
        "invalid": sum(not t.is_valid for e in scored for t in e.turns) / max(sum(len(e.turns) for e in scored), 1),
        "truncated": sum(e.ending.kind == "truncated" for e in scored) / count,
        "failed": float(len(episodes) - len(scored)),
        **{f"ended/{cause}": float(n) for cause, n in endings.items()},
    }


def credit_metrics(table: StepTable, advantage: Floats) -> dict[str, float]:
    """Return how much step-level comparison the episodes allow.

    anchor_coverage: share of rows whose anchor occurs at least twice in the group. zero_spread: share of groups whose
    episodes all have one return. zero_advantage: share of rows whose advantage is 0. loops: rows of an anchor that the
    same episode has already been in, per episode.
    """
    if not len(table):
        return {}
    pairs = np.stack([table.group.astype(np.uint64), table.anchor])
    _, inverse, counts = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    visits = np.stack([table.episode.astype(np.uint64), table.anchor])
    num_visits = np.unique(visits, axis=1).shape[1]
    score = np.bincount(table.episode, table.reward)
    group = table.group[table.first_rows]
    high, low = np.full(group.max() + 1, -np.inf), np.full(group.max() + 1, np.inf)
    np.maximum.at(high, group, score)
    np.minimum.at(low, group, score)
    return {
        "anchor_coverage": float((counts[inverse.reshape(-1)] > 1).mean()),
        "zero_spread": float((high == low).mean()),
        "zero_advantage": float((advantage == 0).mean()),
        "advantage_std": float(advantage.std()),
        "loops": (len(table) - num_visits) / table.num_episodes,
    }
