"""Measures the viewer's page times on a run and an evaluation of 100,000 turns.

Command: `cairn bench viewer`.

The run resembles a household training: groups of eight episodes of up to 20 turns, played by an oracle with errors,
with texts, token ids, rewards, anchors and advantages. The server is timed from a request to the last byte of its page,
in one process. The bar is on processor time, which other load on the machine does not affect: pages only wait for a
cached file. Wall time is also reported. Cached results of an evaluation are recomputed for each request. Not timed: the
network and the browser.
"""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from starlette.types import ASGIApp, Message

from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.benchmarks.viewer._evaluation import make_evaluation
from cairn.core.keys import unsigned
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.store import RunStore
from cairn.core.table import StepTable
from cairn.envs.base import TextEnv
from cairn.envs.registry import make
from cairn.trainer.credit import advantages
from cairn.trainer.metrics import credit_metrics, episode_metrics
from cairn.viewer import evaluated
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs

TURNS, BAR_MS = 100_000, 300
_GROUPS, _SIZE, _LIMIT = 8, 8, 20
_ERRS = 0.45  # share of the oracle's actions that are replaced by random ones


def run(*, quick: bool = False) -> Measurement:
    """Return the median time of each page, in milliseconds."""
    gc.freeze()  # as `cairn view` does
    with tempfile.TemporaryDirectory() as folder:
        repetitions, played = 3 if quick else 15, play(random.Random(0))
        times = page_times(make_run(Path(folder) / "large", TURNS, played), repetitions)
        times |= evaluation_times(make_evaluation(Path(folder) / "evaluation", TURNS, played), repetitions)
    rows: list[Row] = []
    for name, (cpu, wall) in times.items():
        rows.append(row(f"viewer: page {name}, of {TURNS:,} turns", cpu, "ms of processor time", f"<= {BAR_MS}"))
        rows.append(row(f"viewer: page {name}, wall time", wall, "ms"))
    return Measurement(rows=rows)


def page_times(place: Path, repetitions: int) -> dict[str, tuple[float, float]]:
    """Return the medians of processor time and wall time of each page of a run, in milliseconds."""
    app = make_app(find_runs([place]))
    return {name: _median(app, path, repetitions) for name, path in _pages(place).items()}


def evaluation_times(place: Path, repetitions: int) -> dict[str, tuple[float, float]]:
    """Return the same medians for an evaluation's pages, with results recomputed each time."""
    (found,) = find_runs([place])
    app, pages = make_app([found]), {"evaluations": "/", "evaluation": f"/runs/{found.slug}"}
    return {name: _median(app, path, repetitions, evaluated.forget) for name, path in pages.items()}


def make_run(folder: Path, num_turns: int, played: Sequence[Episode]) -> Path:
    """Write a run of at least `num_turns` turns, 64 episodes per update; return its folder."""
    folder.mkdir(parents=True)
    config = {"name": "large", "seed": 0, "env": {"id": "household"}, "credit": {"method": "gigpo"}}
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"config": config, "versions": {"cairn-rl": "0.1.0"}})
        stored = update = 0
        while stored < num_turns:
            update += 1
            episodes = [replace(e, group_id=update * _GROUPS + e.group_id) for e in played]
            table = StepTable.from_episodes(episodes, is_deterministic=True)
            credit = advantages(table, "gigpo")
            metrics = {**episode_metrics(episodes), **credit_metrics(table, credit[table.order]), "seconds/learn": 1.0}
            if update % 10 == 1:
                metrics |= {"eval/success": 0.5, "eval/low": 0.4, "eval/high": 0.6}
            kinds = ["household"] * len(episodes)
            store.add(update, metrics, episodes, task_types=kinds, advantages={"gigpo": credit.tolist()})
            stored += sum(len(e.turns) for e in episodes)
    return folder


def play(rng: random.Random) -> list[Episode]:
    """Return an update's episodes: one group per task."""
    with make("household", split="gen-train", size="tiny", num_tasks=100, turn_limit=_LIMIT) as env:
        tasks = env.tasks()[:_GROUPS]
        played = [_episode(env, rng, task, group) for group, task in enumerate(tasks) for _ in range(_SIZE)]
    return played


def _episode(env: TextEnv, rng: random.Random, task: str, group: int) -> Episode:
    text, info = env.reset(seed=group, options={"task": task})
    turns: list[Turn] = []
    terminated = truncated = False
    while not (terminated or truncated):
        seen = Observation(text=text, anchor=unsigned(info["anchor"]))
        action = rng.choice(info["admissible_actions"]) if rng.random() < _ERRS else env.oracle()
        text, reward, terminated, truncated, info = env.step(action)
        turns.append(_turn(rng, seen, action, float(reward)))
    return Episode(
        task=Task(env_id="household", task_id=task, split="gen-train", seed=group),
        group_id=group,
        turns=tuple(turns),
        ending=Ending.terminated() if terminated else Ending.truncated("turns"),
        score=float(info["score"]),
        success=bool(info["success"]),
        final=Observation(text=text, anchor=unsigned(info["anchor"])),
    )


def _turn(rng: random.Random, seen: Observation, action: str, reward: float) -> Turn:
    prompt, reply = len(seen.text) // 4 + 1, len(action) // 4 + 1
    return Turn(
        observation=seen,
        reply_text=action,
        action=action,
        reward=reward,
        prompt_ids=np.array([rng.randrange(50_000) for _ in range(prompt)], np.int32),
        reply_ids=np.array([rng.randrange(50_000) for _ in range(reply)], np.int32),
        reply_logprobs=np.array([-rng.random() for _ in range(reply)], np.float32),
        policy_version=1,
        seconds=0.001,
    )


def _pages(place: Path) -> dict[str, str]:
    """Return the URL path of each kind of page, for the last update."""
    at = f"/runs/{find_runs([place])[0].slug}"
    with RunStore.read(place) as store:
        step, group = store.rows("SELECT step, group_id FROM episodes ORDER BY id DESC LIMIT 1")[0]
        episode, anchor = store.rows("SELECT episode, anchor FROM turns ORDER BY turn DESC LIMIT 1")[0]
    here = f"{at}/groups/train/{step}/{group}"
    return {
        "runs": "/",
        "run": at,
        "groups": f"{at}/groups",
        "group": here,
        "episodes": f"{at}/episodes?page=20",
        "episode": f"{at}/episodes/{episode}",
        "anchor": f"{at}/anchors/{anchor % (1 << 64):016x}",
        "graph": f"{here}/graph?method=closure&against=gigpo",
        "credit": f"{at}/credit",
        "system": f"{at}/system",
    }


def _median(
    app: ASGIApp, path: str, repetitions: int, before: Callable[[], None] = lambda: None
) -> tuple[float, float]:
    """Return the median times of a page, without the first request, which imports modules.

    `before` is called before each request.
    """
    times = []
    for _ in range(repetitions + 1):
        before()
        times.append(_ask(app, path))
    del times[0]
    return statistics.median(cpu for cpu, _ in times), statistics.median(wall for _, wall in times)


def _ask(app: ASGIApp, path: str) -> tuple[float, float]:
    """Return processor time and wall time of one successful request, in milliseconds."""
    route, _, query = path.partition("?")
    scope = {
        "type": "http", "method": "GET", "path": route, "raw_path": route.encode(), "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1", "scheme": "http",
    }  # fmt: skip
    sent: list[Message] = []

    async def ask() -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await app(scope, receive, send)

    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(ask())
    spent = 1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - began)
    if sent[0]["status"] != 200:
        raise AssertionError(f"{path} gave status {sent[0]['status']}")
    return spent
