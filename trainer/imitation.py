"""The warm start: play an oracle, write its episodes as the policy would have seen them, and fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cairn.agents.context.base import Context
from cairn.agents.demonstrate import demonstrate
from cairn.agents.models.policy import Policy
from cairn.agents.play import play
from cairn.agents.scripted import scripted
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed, numpy_generator
from cairn.envs.base import TextEnv
from cairn.envs.registry import make
from cairn.trainer.config import ImitationConfig, RunConfig
from cairn.trainer.learner import Learner
from cairn.trainer.reference import ReferenceConfig
from cairn.trainer.samples import make_samples

_TOKENIZER_EPISODES = 200


def expert_tasks(task_ids: Sequence[str], count: int, config: RunConfig, purpose: str) -> list[Task]:
    """Return `count` tasks for the oracle, chosen by the run's seed; all of them if there are fewer."""
    rng = numpy_generator(config.seed, purpose)
    chosen = rng.permutation(len(task_ids))[:count]
    return [
        Task(env_id=config.env.id, task_id=task_ids[int(i)], seed=derive_seed(config.seed, purpose, int(i)) % 2**31)
        for i in chosen
    ]


def environment_texts(env: TextEnv, task_ids: Sequence[str], config: RunConfig) -> tuple[list[str], list[str]]:
    """Return observations and actions of oracle episodes, for training a tokenizer."""
    texts: list[str] = []
    actions: list[str] = []
    for task in expert_tasks(task_ids, _TOKENIZER_EPISODES, config, "tokenizer"):
        for turn in play(env, task, scripted(_oracle(env, config), env)).turns:
            texts.append(turn.observation.text)
            actions.extend(turn.observation.admissible or (turn.action,))
    return texts, actions


def demonstrations(
    config: RunConfig, new_context: Callable[[], Context], advanced: Callable[[], None]
) -> list[Episode]:
    """Return the oracle's successful episodes on `config.imitation.episodes` tasks, as token episodes."""
    out = []
    env = make(config.env.id, **config.imitation_env)
    expert = scripted(f"oracle:{config.imitation.oracle}", env)
    for task in expert_tasks(env.tasks(), config.imitation.episodes, config, "imitation"):
        episode = play(env, task, expert, origin="expert")
        if episode.success:
            out.append(demonstrate(episode, new_context(), constrain=config.agent.constrain))
        advanced()
    return out


def imitate(
    policy: Policy,
    demos: Sequence[Episode],
    config: ImitationConfig,
    run: RunConfig,
    noted: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, float]]:
    """Fit the policy to the oracle's turns and yield each pass's metrics; no reference holds it back."""
    samples = make_samples(demos, np.ones(sum(len(demo.turns) for demo in demos)))
    minibatches = max(len(samples) // config.batch, 1)
    settings = run.learner.model_copy(
        update={
            "optimizer": config.optimizer,
            "warmup": config.warmup,
            "decay_to": config.decay_to,
            "entropy_weight": config.entropy_weight,
            "reference": ReferenceConfig(),
            "importance_cap": None,  # demonstrations were not sampled: they have no probability to compare with
            "epochs": 1,
            "minibatches": minibatches,
        }
    )
    learner = Learner(policy, settings, config.epochs * minibatches, noted=noted)
    for epoch in range(config.epochs):
        yield learner.update(samples, "imitate", {}, derive_seed(run.seed, "imitate", epoch))


def _oracle(env: TextEnv, config: RunConfig) -> str:
    return f"oracle:{config.imitation.oracle}" if config.imitation.oracle in env.meta.oracles else "random"
