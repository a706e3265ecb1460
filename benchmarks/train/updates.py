"""The times of one update, and the workload of both sides: rollout of a batch, then a step.

Both sides use the same saved policy and the same tasks. Replies are sampled from the whole vocabulary at temperature 1,
with an equal limit of tokens. An update makes one AdamW step on all its episodes, in float32, on one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cairn.agents.agent import contexts
from cairn.benchmarks.quickstart import environment, fresh_policy, settings
from cairn.trainer.config import RunConfig
from cairn.trainer.samplers.shuffled import TaskSampler
from cairn.trainer.sft import Imitation
from cairn.trainer.sft import demonstrations as demonstrations_of

RATE = 1e-5  # of AdamW: small, so that the policy hardly changes between updates
PHASES = ("rollout", "environment", "logprobs", "learn", "other")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The workload of both sides."""

    tasks: int = 16  # per update
    group: int = 8  # episodes of each task
    turns: int = 20  # maximum
    reply_tokens: int = 16  # at most; actions have up to 8
    updates: int = 1  # the last one is measured

    @property
    def episodes(self) -> int:
        """Episodes per update."""
        return self.tasks * self.group


@dataclass(frozen=True, kw_only=True)
class UpdateTimes:
    """The times and counts of the last update of a process."""

    seconds: float  # wall time
    cpu_seconds: float  # processor time
    phases: Mapping[str, float]  # wall seconds by phase; they add up to `seconds`
    episodes: int
    turns: int  # replies to which the environment responded
    sampled: int  # tokens of all replies
    solved: int
    peak_mb: float  # of the process, since its start

    @property
    def episode_rate(self) -> float:
        """Episodes per second, end to end."""
        return self.episodes / self.seconds

    @property
    def token_rate(self) -> float:
        """Sampled tokens per second of rollout."""
        return self.sampled / (self.phases["rollout"] + self.phases["environment"])

    def share(self, phase: str) -> float:
        """Return a phase's share of the wall time."""
        return self.phases[phase] / self.seconds


def run_config(work: Workload, folder: str, constrain: bool) -> RunConfig:
    """Return the quick start's configuration with this workload and the policy in `folder`."""
    return settings(
        {
            "env.config.turn_limit": work.turns,
            "model.path": folder,
            "agent.constrain": constrain,
            "sampling.max_reply_tokens": work.reply_tokens,
            "imitation.episodes": 0,
            "trainer.updates": work.updates,
            "trainer.groups": work.tasks,
            "trainer.group_size": work.group,
            "trainer.checkpoint_every": work.updates,
            "trainer.threads": 1,
            "learner.minibatches": 1,
            "learner.warmup": 0,
            "learner.average": "token",
            "learner.optimizer": {"kind": "adamw", "lr": RATE},
            "eval.tasks": 1,
            "eval.every": work.updates,
        }
    )


def task_ids(work: Workload) -> list[str]:
    """Return the tasks of all updates, in the order in which a run plays them."""
    config, env = settings(), environment()
    order = TaskSampler(config.env.id, env.tasks(), work.group, config.seed)
    return [order.group(number)[0].task.task_id for number in range(work.tasks * work.updates)]


def save_policy(folder: str, demonstrations: int, epochs: int) -> None:
    """Save a policy with well-formed replies: the quick start's, trained on demonstrations.

    Training has no entropy bonus, unlike the quick start: replies are unconstrained here, and replies from nearly
    uniform distributions are rarely short.
    """
    plan = {"episodes": demonstrations, "epochs": epochs, "entropy_weight": 0.0}
    config, policy = settings({"agent.constrain": False, "imitation": plan}), fresh_policy()
    episodes = demonstrations_of(config, contexts(config.agent, policy))
    for _ in Imitation(policy, episodes, config.imitation, config).passes():
        pass
    policy.save(Path(folder))
