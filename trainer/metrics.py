"""Metrics of one update's episodes, for logs and charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cairn.core.records import Episode
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.kernel.aliases import audit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, segments

SIZES = (1, 2, 4, 8, 16)


def episode_metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return means over scored episodes and counts of failed episodes and endings."""
    scored = [e for e in episodes if not e.is_failed]
    count = max(len(scored), 1)
    replies = [len(t.reply_ids) for e in scored for t in e.turns if t.reply_ids is not None]
    endings = Counter(e.ending.cause for e in episodes if e.ending.kind != "terminated")
    return {
        "success": sum(bool(e.success) for e in scored) / count,
        "return": sum(e.total_reward for e in scored) / count,
        "turns": sum(len(e.turns) for e in scored) / count,
        "invalid": sum(not t.is_valid for e in scored for t in e.turns) / max(sum(len(e.turns) for e in scored), 1),
        "reply_tokens": float(np.mean(replies)) if replies else 0.0,
        "truncated": sum(e.ending.kind == "truncated" for e in scored) / count,
        "failed": float(len(episodes) - len(scored)),
        **{f"ended/{cause}": float(n) for cause, n in endings.items()},
    }


def staleness_metrics(episodes: Sequence[Episode], version: int) -> dict[str, float]:
    """Return the staleness of replies in updates, over the turns of all episodes.

    staleness/mean, staleness/max: in updates. staleness/share: of turns with staleness above 0.
    """
    behind = [version - t.policy_version for e in episodes for t in e.turns if t.policy_version is not None]
    return {
        "staleness/mean": float(np.mean(behind)) if behind else 0.0,
        "staleness/max": float(max(behind, default=0)),
        "staleness/share": float(np.mean(np.array(behind) > 0)) if behind else 0.0,
    }


def credit_metrics(table: StepTable, advantage: Floats) -> dict[str, float]:
    """Return metrics of the step-level comparison and of its advantages.

    `advantage` is in the table's order.

    anchor_coverage: share of steps whose anchor occurs at least twice in the group. anchor_size/N: share of steps in
    anchors of N to 2 N - 1 steps, the last without upper bound. aliasing: share of repeated pairs of an anchor and an
    action with different outcomes. loops: steps in an anchor that the episode has already visited, per episode.
    zero_spread: share of groups with equal returns of all episodes. zero_advantage: share of steps whose advantage is
    0. sign_agreement: share of equal signs of step advantage and episode advantage, over steps where both are nonzero.
    """
    anchor = segments(table.group, table.anchor)
    size = np.bincount(anchor)[anchor]
    num_visits = len(np.unique(segments(table.episode, table.anchor)))
    score, group = scores(table), table.group[table.first_rows]
    high, low = np.full(group.max() + 1, -np.inf), np.full(group.max() + 1, np.inf)
    np.maximum.at(high, group, score)
    np.minimum.at(low, group, score)
    episode = centered(score, group)[table.episode]
    signed = (advantage != 0) & (episode != 0)
    bands = [(size >= n) & (size < 2 * n if n < SIZES[-1] else True) for n in SIZES]
    return {
        "anchor_coverage": float((size > 1).mean()),
        **{f"anchor_size/{n}": float(band.mean()) for n, band in zip(SIZES, bands, strict=True)},
        "aliasing": audit(table).share,
        "loops": (len(table) - num_visits) / table.num_episodes,
        "zero_spread": float((high == low).mean()),
        "zero_advantage": float((advantage == 0).mean()),
        "sign_agreement": float((np.sign(advantage) == np.sign(episode))[signed].mean()) if signed.any() else 0.0,
        "advantage_std": float(advantage.std()),
    }
