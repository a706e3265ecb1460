"""Success of agents in a browser environment: the oracle, a passive agent, a random agent."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from cairn.agents.evaluation.panel import spread
from cairn.benchmarks.envs._gui_speed import end, made
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.process import in_fresh_process, print_progress
from cairn.core.errors import EpisodeFailure
from cairn.envs.gui.browsing import GuiEnv
from cairn.envs.registry import make

Policy = Callable[[GuiEnv, random.Random], str]
_FEW, _QUICK = 120, 3  # tasks per agent, spread over the split
_AT_ONCE, _AT_RANDOM = 8, 20
_TRIES = 3
_PROGRESS_EVERY_S = 30.0
_DONE = "send_msg_to_user('Done.')"


def rows(env_id: str, most_by_chance: str | None, quick: bool) -> Iterator[Row]:
    """Play tasks of the split `valid`.

    The oracle plays 20 seeds of every kind, or 4 if its promised success is below 1.

    `most_by_chance`: the bar for the passive and the random agent; None if any click solves some tasks.
    """
    with make(env_id, split="valid") as env:
        tasks, promised = env.tasks(), env.meta.oracle_success
    for agent, count, bar in (
        ("oracle", len(tasks) if promised == 1 else len(tasks) // 5, f">= {promised}"),
        ("nothing", _FEW, most_by_chance),
        ("random", _FEW, most_by_chance),
    ):
        chosen = spread(tasks, _QUICK if quick else count)
        success, score, failed = in_fresh_process(share, env_id, agent, chosen)
        where = f"{env_id}: {_AGENT_LABELS[agent]}, of {len(chosen)}"
        yield row(f"{where}, solved", success, "share", None if quick else bar)
        yield row(f"{where}, score", score, "mean")
        if failed:
            yield row(f"{where}, failed and tried again", float(failed), "episodes")


def share(env_id: str, agent: str, tasks: Sequence[str]) -> tuple[float, float, int]:
    """Return the share of solved tasks, the mean score and the number of retried failures.

    Several pages play concurrently.
    """
    envs = [made(env_id) for _ in range(min(_AT_ONCE, len(tasks)))]
    found: list[tuple[bool, float]] = []
    failed: list[str] = []
    try:
        with ThreadPoolExecutor(len(envs)) as threads:
            jobs = [
                threads.submit(_play, env, _AGENTS[agent], tasks[place :: len(envs)], found, failed)
                for place, env in enumerate(envs)
            ]
            while wait(jobs, _PROGRESS_EVERY_S).not_done:
                print_progress(f"{env_id}: {_AGENT_LABELS[agent]}: {len(found):,} of {len(tasks):,} episodes")
            for job in jobs:
                job.result()
    finally:
        end(envs)
    solved, score = (statistics.fmean(values) for values in zip(*found, strict=True))
    return solved, score, len(failed)


def _play(
    env: GuiEnv, policy: Policy, tasks: Sequence[str], found: list[tuple[bool, float]], failed: list[str]
) -> None:
    for task in tasks:
        for tries in range(_TRIES):
            try:
                found.append(_episode(env, policy, task))
                break
            except EpisodeFailure as failure:  # an infrastructure failure; repeated ones end the benchmark
                failed.append(task)
                print_progress(f"{task}: {failure}")
                if tries == _TRIES - 1:
                    raise


def _episode(env: GuiEnv, policy: Policy, task: str) -> tuple[bool, float]:
    _, info = env.reset(seed=0, options={"task": task})
    rng, terminated = random.Random(task), False
    while not terminated:
        _, _, is_done, truncated, info = env.step(policy(env, rng))
        terminated = is_done or truncated
    return bool(info["success"]), float(info["score"])


def _oracle(env: GuiEnv, _: random.Random) -> str:
    return env.oracle()


def _nothing(env: GuiEnv, _: random.Random) -> str:
    return _DONE if "send_msg_to_user" not in env.without else "noop()"


def _at_random(env: GuiEnv, rng: random.Random) -> str:
    """Return a random admissible action, and end the episode after `_AT_RANDOM` turns."""
    if env.turn >= _AT_RANDOM:
        return _nothing(env, rng)
    return rng.choice(env.admissible() or ("noop()",))


_AGENTS: dict[str, Policy] = {"oracle": _oracle, "nothing": _nothing, "random": _at_random}
_AGENT_LABELS = {
    "oracle": "the oracle",
    "nothing": "the agent that does nothing",
    "random": f"the agent at random for {_AT_RANDOM} turns",
}
