"""Plays the missing episodes of an evaluation in one process and stores each when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cairn.agents.agent import Agent
from cairn.agents.backends.http.usage import TokenUsage
from cairn.agents.evaluation.jobs import Pace, part_jobs, play_jobs
from cairn.agents.evaluation.metrics import TaskFacts
from cairn.agents.evaluation.panel import Panel, PanelSection, check_beginning, open_env
from cairn.agents.rollout.episode import Job
from cairn.core.records import Episode
from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow
from cairn.envs.base import TextEnv
from cairn.envs.registry import close


@dataclass(frozen=True)
class EvaluationRunner:
    """Plays and stores the missing episodes of an evaluation."""

    agent: Agent
    panel: Panel
    pace: Pace
    facts: dict[str, Any]  # Any: JSON
    store: RunStore
    on_episode: Callable[[PanelSection, Episode], None]
    on_left: Callable[[int], None]  # called before the first episode with the number of missing ones

    def play(self) -> int:
        """Play the missing episodes and return their number."""
        left = [self._left(number, part) for number, part in enumerate(self.panel.parts)]
        self.on_left(sum(map(len, left)))
        if any(left):
            self._play_all(left)
        return sum(map(len, left))

    def _left(self, number: int, part: PanelSection) -> list[Job]:
        done = {(row.task, row.seed) for row in latest(self.store, number) if row.success is not None}
        return [job for job in part_jobs(part) if (job.task.task_id, job.task.seed) not in done]

    def _play_all(self, left: Sequence[Sequence[Job]]) -> None:
        worlds = [open_env(part) for part in self.panel.parts]  # open all environments before playing
        self._note(worlds)
        began, before = time.monotonic(), self.store.meta().get("seconds", 0.0)
        try:
            for number, (part, world, jobs) in enumerate(zip(self.panel.parts, worlds, left, strict=True)):
                if jobs:
                    keep = self._keeper(number, part, world)
                    play_jobs(self.agent, part, jobs, self.facts["temperature"], self.pace, keep, self._count)
        finally:
            self.store.set_meta({"seconds": before + time.monotonic() - began})
            for world in worlds:
                close(world)

    def _note(self, worlds: Sequence[TextEnv]) -> None:
        tasks = [
            {
                task: asdict(
                    TaskFacts(
                        type=world.task_type(task),
                        difficulty=world.difficulty(task),
                        can_solve=world.can_solve(task),
                    )
                )
                for task in part.tasks
            }
            for part, world in zip(self.panel.parts, worlds, strict=True)
        ]
        ranges = [world.meta.reward_range for world in worlds]
        panel = self.panel.model_dump(mode="json")
        self.store.set_meta(
            {"agent": self.agent.name, "panel": panel, "facts": self.facts, "tasks": tasks, "ranges": ranges}
        )
        for part, world in zip(self.panel.parts, worlds, strict=True):
            self.store.environment(part.env, world.meta.version, part.config)

    def _count(self, used: TokenUsage) -> None:
        """Add a server's usage to the stored usage."""
        before = self.store.meta().get("usage")
        self.store.set_meta({"usage": asdict(used if before is None else TokenUsage(**before) + used)})

    def _keeper(self, number: int, part: PanelSection, world: TextEnv) -> Callable[[Episode], None]:
        def keep(episode: Episode) -> None:
            if episode.turns:
                check_beginning(part, episode.task.task_id, episode.turns[0].observation)
            kind = world.task_type(episode.task.task_id)
            self.store.add(number, {}, [episode], phase="eval", task_types=[kind])
            self.on_episode(part, episode)

        return keep


def latest(store: RunStore, number: int) -> list[EpisodeRow]:
    """Return the last episode of each attempt at a part's tasks."""
    found = {(row.task, row.seed): row for row in read.episodes(store, phase="eval", step=number)}
    return list(found.values())
