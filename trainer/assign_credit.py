"""Computes one advantage per turn from an update's episodes, with metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cairn.core.records import Episode
from cairn.core.table import Flags, Floats, Keys, StepTable
from cairn.envs.base import EnvMeta
from cairn.trainer.config import RunConfig
from cairn.trainer.credit import CheckedEstimator
from cairn.trainer.credit.kernel.similarity import similar
from cairn.trainer.metrics import credit_metrics


class CreditAssigner:
    """The credit method of a run, made once."""

    def __init__(self, config: RunConfig, env: EnvMeta) -> None:
        """Make the estimator; `env`: the declared properties of the run's environment."""
        self._estimator = CheckedEstimator(config.credit.method, config.credit.settings)
        self._similarity = config.trainer.similarity
        self._parts, self._is_deterministic = env.parts, env.is_deterministic

    def assign(self, episodes: Sequence[Episode]) -> tuple[Floats, Flags, dict[str, float]]:
        """Return the advantages and the flags of trained turns, in the order of the episodes' turns, and metrics.

        `episodes`: those of one update, sorted by group; none of them may have failed.
        """
        if not any(episode.turns for episode in episodes):
            return np.zeros(0), np.zeros(0, np.bool_), {}
        table = StepTable.from_episodes(
            episodes,
            anchor=_alike(episodes, self._similarity),
            parts=self._parts,
            is_deterministic=self._is_deterministic,
        )
        if not np.array_equal(table.order, np.arange(len(table))):
            raise ValueError("expected the episodes sorted by group")
        advantages = self._estimator(table)
        return advantages, self._estimator.learned(table), credit_metrics(table, advantages)


def _alike(episodes: Sequence[Episode], similarity: float | None) -> Keys | None:
    """Return keys of similar observations, one per turn; None: use the environment's anchors."""
    if similarity is None:
        return None
    turns = [(e.group_id, turn.observation.text) for e in episodes for turn in e.turns]
    groups, texts = zip(*turns, strict=True)
    return similar(texts, groups, similarity)
