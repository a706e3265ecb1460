"""Computes one advantage per turn from an update's episodes, with metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cairn.core.records import Episode
from cairn.core.table import Flags, Floats, Keys, StepTable
from cairn.envs.base import EnvMeta
from cairn.trainer.config import RunConfig
from cairn.trainer.credit import advantages, learned
from cairn.trainer.credit.kernel.similarity import similar
from cairn.trainer.metrics import credit_metrics


def step_credit(config: RunConfig, episodes: Sequence[Episode], env: EnvMeta) -> tuple[Floats, Flags, dict[str, float]]:
    """Return the advantages, the flags of trained turns, and metrics.

    Advantages and flags are in the order of the episodes' turns.

    Args:
        config: the run's configuration.
        episodes: the update's episodes; none of them may have failed.
        env: the declared properties of the run's environment.
    """
    if not any(episode.turns for episode in episodes):
        return np.zeros(0), np.zeros(0, np.bool_), {}
    anchors = _alike(episodes, config.trainer.similarity)
    table = StepTable.from_episodes(episodes, anchor=anchors, parts=env.parts, is_deterministic=env.is_deterministic)
    found = advantages(table, config.credit.method, **config.credit.settings)
    kept = learned(table, config.credit.method, **config.credit.settings)
    return found, kept, credit_metrics(table, found[table.order])


def _alike(episodes: Sequence[Episode], similarity: float | None) -> Keys | None:
    """Return keys of similar observations, one per turn; None: use the environment's anchors."""
    if similarity is None:
        return None
    turns = [(e.group_id, turn.observation.text) for e in episodes for turn in e.turns]
    groups, texts = zip(*turns, strict=True)
    return similar(texts, groups, similarity)
