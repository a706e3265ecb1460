"""The warm start: plays an oracle, encodes its episodes and trains the policy on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cairn.agents.context.base import Context
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.demonstrations import demonstrate
from cairn.core.plugin_config import PluginConfig
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed, numpy_generator
from cairn.envs.registry import declared, list_tasks
from cairn.trainer.config import ImitationConfig, RunConfig
from cairn.trainer.engine import play_script
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.learner.reference import ReferenceConfig
from cairn.trainer.learner.samples import Sample, make_samples

_TOKENIZER_EPISODES = 200


def expert_tasks(task_ids: Sequence[str], count: int, config: RunConfig, purpose: str) -> list[Task]:
    """Return `count` tasks for the oracle, chosen by the run's seed, or all if there are fewer."""
    rng = numpy_generator(config.seed, purpose)
    chosen = rng.permutation(len(task_ids))[:count]
    return [
        Task(env_id=config.env.id, task_id=task_ids[int(i)], seed=derive_seed(config.seed, purpose, int(i)) % 2**31)
        for i in chosen
    ]


def environment_texts(config: RunConfig, task_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return observations with tool schemas, and actions, of oracle episodes for a tokenizer.

    Tool schemas are included if prompts show them.

    Raises:
        CairnError: more episodes failed than `trainer.max_failed_share` allows.
    """
    oracle, settings = config.imitation.oracle, config.env.config
    agent = f"oracle:{oracle}" if oracle in declared(config.env.id, settings).oracles else "random"
    tasks = expert_tasks(task_ids, _TOKENIZER_EPISODES, config, "tokenizer")
    shows_tools = bool(config.agent.context.settings.get("tools"))
    texts: list[str] = []
    actions: list[str] = []
    for episode in play_script(config, agent, settings, tasks):
        for turn in episode.turns:
            texts.append(turn.observation.text)
            texts.extend(json.dumps(tool) for tool in turn.observation.tools if shows_tools)
            actions.extend(turn.observation.admissible or (turn.action,))
    return texts, actions


def demonstrations(
    config: RunConfig,
    new_context: Callable[[], Context],
    on_episode: Callable[[Episode], None] = lambda _: None,
    held_out: Collection[str] = (),
    is_stopped: Callable[[], bool] = lambda: False,
) -> list[Episode]:
    """Return the oracle's successful episodes as token episodes, for imitation.

    Args:
        config: the run's configuration.
        new_context: returns a context for an episode.
        on_episode: called with each episode of the oracle, including failed ones.
        held_out: tasks to skip.
        is_stopped: called after each action; once it returns true, the episodes so far are returned.

    Raises:
        CairnError: more episodes failed than `trainer.max_failed_share` allows.
    """
    apart, settings = frozenset(held_out), config.imitation_env
    names = [task for task in list_tasks(config.env.id, settings) if task not in apart]
    tasks = expert_tasks(names, config.imitation.episodes, config, "imitation")
    played = play_script(config, f"oracle:{config.imitation.oracle}", settings, tasks, on_episode, is_stopped)
    constrain = config.agent.constrain
    return [demonstrate(episode, new_context(), constrain=constrain) for episode in played if episode.success]


class Imitation:
    """Trains a policy on demonstrations, batch by batch, without a reference policy.

    `learner.steps` is the progress, so that a restored learner continues at the next batch and gets the same weights as
    an undisturbed one.
    """

    def __init__(
        self,
        policy: Policy,
        demos: Sequence[Episode],
        config: ImitationConfig,
        run: RunConfig,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._samples = make_samples(demos, np.ones(sum(len(demo.turns) for demo in demos)))
        self._seed = run.seed
        self._num_batches = max(len(self._samples) // config.batch, 1)
        self._total = config.epochs * self._num_batches
        self._sums: dict[str, float] = {}  # of the current pass
        loss = PluginConfig(method="imitate")
        self.learner = Learner(policy, _settings(config, run), self._total, loss=loss, on_note=on_note)

    @property
    def epoch(self) -> int:
        """The number of completed passes."""
        return self.learner.steps // self._num_batches

    @property
    def is_finished(self) -> bool:
        """Whether all passes are done."""
        return self.learner.steps >= self._total

    def passes(self, is_stopped: Callable[[], bool] = lambda: False) -> Iterator[dict[str, float]]:
        """Yield each pass's metrics; end before the next batch once `is_stopped` returns true.

        loss, entropy: mean over the demonstrations' tokens. grad_norm: mean over the pass's optimiser steps.
        """
        while not self.is_finished:
            epoch, first = divmod(self.learner.steps, self._num_batches)
            for batch in self._batches(epoch)[first:]:
                if is_stopped():
                    return
                self._add([self._samples[i] for i in batch], epoch)
            tokens, sums, self._sums = self._sums["tokens"], self._sums, {}
            means = {name: sums[name] / tokens for name in ("loss", "entropy")}
            yield {**means, "grad_norm": sums["grad_norm"] / self._num_batches}

    def state_dict(self) -> dict[str, float]:
        """Return the sums of the current pass; the checkpoint stores the learner's state."""
        return dict(self._sums)

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Continue with these sums."""
        self._sums = dict(state)

    def _add(self, samples: Sequence[Sample], epoch: int) -> None:
        metrics = self.learner.update(samples, derive_seed(self._seed, "imitate", epoch))
        tokens = float(sum(len(sample.positions) for sample in samples))
        added = {name: metrics[name] * tokens for name in ("loss", "entropy")}
        added |= {"tokens": tokens, "grad_norm": metrics["grad_norm"]}
        self._sums = {name: self._sums.get(name, 0.0) + value for name, value in added.items()}

    def _batches(self, epoch: int) -> list[npt.NDArray[np.int64]]:
        rng = numpy_generator("minibatches", derive_seed(self._seed, "imitate", epoch))
        return np.array_split(rng.permutation(len(self._samples)), self._num_batches)


def _settings(config: ImitationConfig, run: RunConfig) -> LearnerConfig:
    """Return the learner's settings for imitation: the run's, without those of reinforcement."""
    own = {
        "optimizer": config.optimizer,
        "warmup": config.warmup,
        "decay_to": config.decay_to,
        "entropy_weight": config.entropy_weight,
        "reference": ReferenceConfig(),
        "importance_cap": None,  # demonstrations were not sampled: they have no probability for comparison
        "epochs": 1,
        "minibatches": 1,
    }
    return run.learner.model_copy(update=own)
