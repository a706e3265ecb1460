"""Plays a list of jobs to the end: for evaluation, and wherever all episodes are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from cairn.agents.engine import Engine
from cairn.agents.flight import Job
from cairn.core.records import Episode


def collect(
    engine: Engine,
    jobs: Iterable[Job],
    on_episode: Callable[[Episode], None] = lambda _: None,
    on_work: Callable[[], None] = lambda: None,
) -> list[Episode]:
    """Play every job and return the episodes in the jobs' order.

    `on_episode` hears of each as it ends; `on_work` is called often while they are played.
    """
    mine = [replace(job) for job in jobs]  # equal jobs must be told apart
    done: dict[int, Episode] = {}
    left = iter(mine)
    while len(done) < len(mine):
        for job, episode in engine.pump(lambda: next(left, None)):
            done[id(job)] = episode
            on_episode(episode)
        on_work()
    return [done[id(job)] for job in mine]
