"""Plays any agent on tasks of a browser environment and records the episodes.

Episodes are played one after another in one page. Infrastructure failures are never recorded. By default, only episodes
that solved their task are recorded; skipped episodes are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cairn.agents.agent import load_agent
from cairn.agents.rollout.engine import Engine, collect
from cairn.agents.rollout.episode import Job
from cairn.core.errors import CairnError
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.envs.gui.browsing import GuiEnv
from cairn.envs.gui.recorder import GuiRecorder
from cairn.envs.gui.recording import RecordedEpisode, Recording
from cairn.envs.registry import close, make, task_ids

_NOT_RECORDED = {"browser"}  # settings that do not affect the content


def record(
    agent: str,
    env: str,
    *,
    config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    tasks: int | Sequence[str] = 10,
    seed: int = 0,
    temperature: float = 0.4,
    unsolved: bool = False,
    on_episode: Callable[[Episode], None] = lambda _: None,
) -> tuple[Recording, Counter[str]]:
    """Play each task once and return the recording and the counts of skipped episodes by reason.

    Args:
        agent: as `agents.evaluation.jobs.play_tasks` takes it, with its `settings` and `temperature`.
        env: id of a browser environment.
        config: the environment's settings.
        settings: the agent's settings.
        tasks: ids, or a number of tasks evenly spread over the configured split.
        seed: seed of the environment and the agent.
        temperature: sampling temperature, for policies.
        unsolved: whether to record episodes that did not solve their task.
        on_episode: called with each finished episode.

    Raises:
        CairnError: the environment has no pages, or one of the names or settings is wrong.
    """
    world = make(env, **(config or {}))
    if not isinstance(world, GuiEnv):
        raise CairnError(f"Environment {env!r} is not played in a browser; only such can be recorded, as gui/apps")
    recorder = GuiRecorder(world)
    names = _spread(task_ids(world), tasks) if isinstance(tasks, int) else tasks
    loaded = load_agent(agent, settings)
    backend = loaded.backend(slots=1, temperature=temperature)
    kept: list[RecordedEpisode] = []
    left_out: Counter[str] = Counter()
    try:
        engine = Engine(backend, _Single(recorder), loaded.interface)
        for at, name in enumerate(names):
            task = Task(env_id=env, task_id=name, seed=derive_seed(seed, "evaluate", name) % 2**31)
            job = Job(task=task, group_id=at, sample_seed=derive_seed(seed, "sample", name))
            [episode] = collect(engine, [job])
            reason = _record(recorder, episode, kept, unsolved)
            left_out.update([reason] if reason else [])
            on_episode(episode)
    finally:
        backend.close()
        close(world)
    return Recording(
        env_id=env,
        env_version=world.meta.version,
        settings=world.config.model_dump(mode="json", exclude=_NOT_RECORDED),
        functions=recorder.functions,
        episodes=tuple(kept),
    ), left_out


def _record(recorder: GuiRecorder, episode: Episode, kept: list[RecordedEpisode], unsolved: bool) -> str | None:
    """Add an episode to `kept`, or return the reason for skipping it."""
    if episode.is_failed:
        return "failed"
    if not episode.success and not unsolved:
        return "not solved"
    if (found := recorder.recorded(episode)) is None:
        return "empty"
    kept.append(found)
    return None


def _spread(names: Sequence[str], count: int) -> list[str]:
    count = min(count, len(names))
    return [names[at * len(names) // count] for at in range(count)]


class _Single:
    """A pool of one environment, which recovers from its own faults when it is reset."""

    threads = 0

    def __init__(self, recorder: GuiRecorder) -> None:
        self._recorder = recorder

    def lease(self) -> GuiRecorder:
        return self._recorder

    def release(self, handle: GuiRecorder, /) -> None:
        pass

    def close(self) -> None:
        self._recorder.env.close()
