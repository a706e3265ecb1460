"""Plays one task with one environment and one scripted agent.

See `agents.rollout.engine` for models, which play many episodes at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cairn.core.errors import EpisodeFailure
from cairn.core.keys import unsigned
from cairn.core.records import Ending, Episode, Observation, Origin, Task, Turn


class Environment(Protocol):
    """The methods that `play` needs of an environment or of a pool's handle to one."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute one action."""


Choose = Callable[[Observation], str]  # observation -> action


def play(env: Environment, task: Task, choose: Choose, *, group_id: int = 0, origin: Origin = "policy") -> Episode:
    """Play `task` to its end.

    If the environment fails, the episode is marked as failed and holds the turns before the failure.
    """
    turns: list[Turn] = []
    try:
        observation = observe(*env.reset(seed=task.seed, options={"task": task.task_id}))
        while True:
            action = choose(observation)
            text, reward, terminated, truncated, info = env.step(action)
            turns.append(
                Turn(
                    observation=observation,
                    reply_text=action,
                    action=action,
                    reward=float(reward),
                    channels=info.get("channels", {}),
                    acted=info.get("acted"),
                )
            )
            observation = observe(text, info)
            if terminated or truncated:
                break
    except EpisodeFailure as failure:
        ending = Ending.failed(failure.cause, str(failure))  # type: ignore[arg-type]  # causes are declared as str
        return Episode(
            task=task, group_id=group_id, turns=tuple(turns), ending=ending, score=None, success=None, origin=origin
        )
    return Episode(
        task=task,
        group_id=group_id,
        turns=tuple(turns),
        origin=origin,
        final=observation,
        ending=Ending.terminated() if terminated else Ending.truncated("turns"),
        score=float(info["score"]),
        success=bool(info["success"]),
    )


def observe(text: str, info: dict[str, Any]) -> Observation:
    """Return the observation from an environment's reset or step result."""
    return Observation(
        text=text,
        anchor=unsigned(info["anchor"]),
        admissible=info["admissible_actions"],
        image=info.get("image"),
        tools=info.get("tools", ()),
        max_calls=info.get("max_calls", 1),
        takes_text=info.get("takes_text", False),
        results=info.get("results", ()),
    )
