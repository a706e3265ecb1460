"""One update of the policy: episodes, credit, samples, a step of the learner, new weights for the rollout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cairn.agents.rollout.source import EpisodeSource
from cairn.core.records import Episode
from cairn.core.table import Floats
from cairn.trainer.assign_credit import CreditAssigner
from cairn.trainer.callbacks import PhaseTimer, RolloutProgressMeter
from cairn.trainer.config import RunConfig
from cairn.trainer.engine import require_few_failures
from cairn.trainer.learner.learner import Learner
from cairn.trainer.learner.samples import make_samples
from cairn.trainer.metrics import episode_metrics, staleness_metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResult:
    """The episodes of an update, and what was learned from them."""

    episodes: Sequence[Episode]  # by group; failed ones included
    scored: Sequence[Episode]  # those that did not fail
    advantages: Floats  # [turns of `scored`]
    metrics: dict[str, float]

    @property
    def failed(self) -> list[Episode]:
        """The episodes that failed."""
        return [episode for episode in self.episodes if episode.is_failed]

    @property
    def is_empty(self) -> bool:
        """Whether no scored episode has a turn to train on: all ended before their first reply."""
        return bool(self.scored) and not any(episode.turns for episode in self.scored)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUpdate:
    """The parts of an update, made once; each call of `run` is an update."""

    config: RunConfig
    rollout: EpisodeSource
    credit: CreditAssigner
    learner: Learner
    timer: PhaseTimer

    def run(self, number: int, seed: int) -> UpdateResult:
        """Make update `number`, counted from 0; afterwards the weights have version ``number + 1``.

        Args:
            number: the number of earlier updates.
            seed: of the learner's minibatches.

        Raises:
            CairnError: too many episodes failed, or the learner's logprobs differ from the sampled ones.
            DivergedError: logits, log-probabilities or the gradient are not finite.
        """
        rollout, timer = self.rollout, self.timer
        with timer.phase("rollout", self.config.trainer.groups * self.config.trainer.group_size):
            meter = RolloutProgressMeter(
                timer.callback,
                lambda: int(rollout.metrics()["in_flight"]),
                lambda: rollout.tokens_processed,
                number,
            )
            episodes = rollout.next_batch(meter.ended, meter.beat)
        require_few_failures(self.config, episodes)
        scored = [episode for episode in episodes if not episode.is_failed]
        with timer.phase("credit", 1):
            advantages, learned, credit_metrics = self.credit.assign(scored)
            samples = make_samples(scored, advantages, learned)
        with timer.phase("learn", 1):
            learner_metrics = self.learner.update(samples, seed, version=number)
        self.learner.policy.version = number + 1
        rollout.sync_weights(number + 1)
        measured = {**episode_metrics(episodes), **staleness_metrics(episodes, number)}
        return UpdateResult(
            episodes=episodes,
            scored=scored,
            advantages=advantages,
            metrics={**measured, **credit_metrics, **learner_metrics},
        )
