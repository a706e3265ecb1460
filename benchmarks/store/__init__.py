"""Measures the speed of the run store and its share of training: `cairn bench store`.

Turns are like the household's: a page of text as observation and a short reply with its tokens; 64 episodes of 20 turns
per update. The baseline is plain SQLite: a row per turn with uncompressed texts, no index except the key, the same
transactions.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.core.keys import unsigned
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.store import RunStore, read
from cairn.envs.registry import make
from cairn.trainer.train import train

_EPISODES, _TURNS = 64, 20
_PLAIN = """
CREATE TABLE turns (episode, turn, anchor, observation, reply, action, reward, valid, prompt_ids, reply_ids, logprobs,
  advantage, PRIMARY KEY (episode, turn)) WITHOUT ROWID
"""


def run(*, quick: bool = False) -> Measurement:
    """Return turns written per second, their size, and the store's share of a training update."""
    with tempfile.TemporaryDirectory() as folder:
        rows = storing(Path(folder), 4 if quick else 40)
        return Measurement(rows=[*rows, _share_of_training(Path(folder) / "run", 1 if quick else 4)])


def storing(folder: Path, updates: int) -> list[Row]:
    """Return the speed of writing and reading updates, and their size, against plain rows."""
    episodes = _played()
    plain = _best(lambda number: _write_plain(folder / f"plain{number}", episodes, updates))
    ours = _best(lambda number: _write(folder / f"ours{number}", episodes, updates))
    sizes = [(folder / f"{name}0").stat().st_size / (updates * len(episodes) * _TURNS) for name in _NAMES]
    return [
        row("store: turns written, one core", ours, "turns/s", ">= 5000"),
        row("store: turns written, plain rows", plain, "turns/s"),
        row("store: speed", ours / plain, "x", baseline="plain rows"),
        row("store: size of a turn", sizes[1], "bytes"),
        row("store: size", sizes[0] / sizes[1], "x smaller", baseline="plain rows"),
        _reading(folder / "ours0"),
    ]


_NAMES = ("plain", "ours")


def _played() -> list[Episode]:
    """Return episodes with the household's texts."""
    rng, made = random.Random(0), []
    with make("household") as env:
        for number, task in enumerate(env.tasks()[:_EPISODES]):
            text, info = env.reset(seed=number, options={"task": task})
            turns = []
            for _ in range(_TURNS):
                action = rng.choice(info["admissible_actions"])
                turns.append(_turn(rng, Observation(text=text, anchor=unsigned(info["anchor"])), action))
                text, _, over, cut, info = env.step(action)
                if over or cut:
                    text, info = env.reset(seed=number, options={"task": task})
            ending = Ending.truncated("turns")
            where = Task(env_id="household", task_id=task)
            made.append(
                Episode(task=where, group_id=number // 8, turns=tuple(turns), ending=ending, score=0.0, success=False)
            )
    return made


def _turn(rng: random.Random, observation: Observation, action: str) -> Turn:
    prompt, reply = len(observation.text) // 4 + 1, len(action) // 4 + 1
    return Turn(
        observation=observation,
        reply_text=action,
        action=action,
        reward=0.0,
        prompt_ids=np.array([rng.randrange(50_000) for _ in range(prompt)], np.int32),
        reply_ids=np.array([rng.randrange(50_000) for _ in range(reply)], np.int32),
        reply_logprobs=np.array([-rng.random() for _ in range(reply)], np.float32),
        policy_version=1,
        seconds=0.001,
    )


def _best(measure: Callable[[int], float]) -> float:
    return max(measure(number) for number in range(3))


def _write(path: Path, episodes: list[Episode], updates: int) -> float:
    kinds, credit = ["a"] * len(episodes), {"gigpo": [0.5] * (len(episodes) * _TURNS)}
    with RunStore(path) as store:
        began = time.perf_counter()
        for update in range(updates):
            store.add(update, {"loss": 0.5}, episodes, task_types=kinds, advantages=credit)
        return updates * len(episodes) * _TURNS / (time.perf_counter() - began)


def _write_plain(path: Path, episodes: list[Episode], updates: int) -> float:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(_PLAIN)
    began = time.perf_counter()
    for update in range(updates):
        rows = [
            (
                update * _EPISODES + e, t, f"{turn.observation.anchor:016x}", turn.observation.text, turn.reply_text,
                turn.action, turn.reward, 1, _bytes(turn.prompt_ids), _bytes(turn.reply_ids),
                _bytes(turn.reply_logprobs), 0.5,
            )
            for e, episode in enumerate(episodes)
            for t, turn in enumerate(episode.turns)
        ]  # fmt: skip
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        database.execute("COMMIT")
    seconds = time.perf_counter() - began
    database.close()
    return updates * len(episodes) * _TURNS / seconds


def _bytes(array: object) -> bytes:
    assert isinstance(array, np.ndarray)
    return array.tobytes()


def _reading(path: Path) -> Row:
    with RunStore.read(path) as store:
        chosen = read.episodes(store, limit=_EPISODES)
        began = time.perf_counter()
        turns = sum(len(episode.turns) for episode in read.whole_episodes(store, chosen))
        return row("store: turns read again as records", turns / (time.perf_counter() - began), "turns/s")


def _share_of_training(folder: Path, updates: int) -> Row:
    """Return the share of the quick start's update time that the store takes."""
    spent, add = [0.0], RunStore.add

    def timed(*arguments: Any, **options: Any) -> None:  # Any: the arguments of `add`
        began = time.perf_counter()
        add(*arguments, **options)
        spent[0] += time.perf_counter() - began

    settings = {"trainer.updates": updates, "imitation.episodes": 20, "imitation.epochs": 1, "eval.tasks": 2}
    with patch.object(RunStore, "add", timed):
        train("quickstart", settings, folder=folder)
    with RunStore.read(folder) as store:
        phases = [name for name in store.names() if name.startswith("seconds/")]
        whole = sum(value for name in phases for _, value in store.series(name))
    return row("store: share of the quick start's updates", spent[0] / whole, "of the time", "<= 0.02")
