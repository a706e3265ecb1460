"""What one update took, on either side: episodes of one batch of tasks are played, then learned from.

`work` fixes what both sides do: one policy, saved; the same tasks; replies drawn from the whole vocabulary at
temperature 1 and cut after as many tokens; one AdamW step on all episodes of the update; float32; one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cairn.agents.agent import new_context
from cairn.benchmarks.quickstart import environment, fresh_policy, settings
from cairn.trainer.config import RunConfig
from cairn.trainer.samplers.shuffled import TaskSampler
from cairn.trainer.sft import Imitation
from cairn.trainer.sft import demonstrations as demonstrations_of

RATE = 1e-5  # of AdamW: nearly the same policy plays every update
PHASES = ("rollout", "environment", "logprobs", "learn", "other")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """How much both sides do."""

    tasks: int = 16  # of an update
    group: int = 8  # episodes of each task
    turns: int = 20  # at most
    reply_tokens: int = 16  # at most; actions have up to 8
    updates: int = 1  # the last one counts

    @property
    def episodes(self) -> int:
        """Episodes of an update."""
        return self.tasks * self.group


@dataclass(frozen=True, kw_only=True)
class UpdateTimes:
    """What the last update of a process took, and what was played in it."""

    seconds: float  # wall time
    cpu_seconds: float  # processor time
    phases: Mapping[str, float]  # wall seconds by phase; they add up to `seconds`
    episodes: int
    turns: int  # replies that the environment answered
    sampled: int  # tokens of all replies
    solved: int
    peak_mb: float  # of the process, from its beginning

    @property
    def episode_rate(self) -> float:
        """Episodes a second, end to end."""
        return self.episodes / self.seconds

    @property
    def token_rate(self) -> float:
        """Sampled tokens a second of rollout."""
        return self.sampled / (self.phases["rollout"] + self.phases["environment"])

    def share(self, phase: str) -> float:
        """Share of the wall time."""
        return self.phases[phase] / self.seconds


def run_config(work: Workload, folder: str, constrain: bool) -> RunConfig:
    """Return the quick start, on this much work and the policy in `folder`."""
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
    """Save a policy that answers in the right form: the quick start's, after some passes over demonstrations.

    Without the quick start's entropy bonus: replies are not held to the admissible actions here, and few that are drawn
    from nearly uniform distributions are short.
    """
    plan = {"episodes": demonstrations, "epochs": epochs, "entropy_weight": 0.0}
    config, policy = settings({"agent.constrain": False, "imitation": plan}), fresh_policy()
    episodes = demonstrations_of(config, lambda: new_context(config.agent, policy))
    for _ in Imitation(policy, episodes, config.imitation, config).passes():
        pass
    policy.save(Path(folder))
