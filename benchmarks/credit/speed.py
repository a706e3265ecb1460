"""Measures the time of credit methods and its growth with rows, against `stock.gigpo`.

The rows are random walks: groups of 8 episodes of 50 steps over 200 states, rewards at the end, so that most states
recur. Times are the minimum of three runs, without the construction of the table, which has its own row.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cairn.benchmarks.credit import stock
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.process import watched
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages

SMALL, LARGE = 25_600, 1_000_000
LIMITS_S = {"gigpo": 2.0, "salt": 2.0, "closure": 5.0}  # for a million rows
TIMES_FASTER, GROWTH = 500.0, 2.0
EPISODES, STEPS, STATES = 8, 50, 200
TEXT = "You are in the middle of a room. Looking quickly around you, you see a number of things, among them {}. "


def columns(rows: int, seed: int = 0) -> dict[str, Any]:
    """Return the columns of random walks, `rows` in total."""
    rng = np.random.default_rng(seed)
    episodes = rows // STEPS
    state, walk = np.zeros(episodes, np.int64), np.zeros((episodes, STEPS), np.int64)
    action = rng.integers(0, 5, (episodes, STEPS))
    for turn in range(STEPS):
        walk[:, turn] = state
        state = (7 * state + 13 * action[:, turn] + 1) % STATES
    reward = np.zeros((episodes, STEPS))
    reward[:, -1] = rng.random(episodes) < 0.5
    episode = np.repeat(np.arange(episodes), STEPS)
    turn_of_row = np.tile(np.arange(STEPS), episodes)
    return {"group": episode // EPISODES, "episode": episode, "turn": turn_of_row, "anchor": walk.ravel(),
            "action": action.ravel(), "reward": reward.ravel()}  # fmt: skip


def measure(quick: bool) -> list[Row]:
    """Return rows of name, value, unit, baseline, bar, holds."""
    small, large = SMALL // 4 if quick else SMALL, LARGE // 10 if quick else LARGE
    rows = [_against_stock(small)]
    tables = {n: StepTable.from_columns(**columns(n)) for n in (small, large)}
    for method, limit in watched("credit: times of methods", LIMITS_S.items()):
        seconds = {n: least(partial(advantages, table, method)) for n, table in tables.items()}
        growth = (seconds[large] / large) / (seconds[small] / small)
        name = f"credit: {method}, time a row at {large:,} over that at {small:,}"
        rows += [
            row(f"credit: {method}, {large:,} rows", seconds[large], "s", None if quick else f"<= {limit}"),
            row(name, growth, "times", None if quick else f"<= {GROWTH}"),
        ]
    made = columns(large)
    build = partial(StepTable.from_columns, **made)
    return [*rows, row(f"credit: building a table of {large:,} rows", least(build), "s")]


def least(run: Callable[[], object], times: int = 3) -> float:
    """Return the minimum wall time of some runs, in seconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        found.append(time.perf_counter() - began)
    return min(found)


def _against_stock(rows: int) -> Row:
    made = columns(rows)
    names = {key: np.array([f"{key}-{x:032d}" for x in made[key].tolist()], object) for key in ("group", "episode")}
    texts = np.array([8 * TEXT.format(x) for x in made["anchor"].tolist()], object)
    table = StepTable.from_columns(**made)
    settings: dict[str, Any] = {"averaging": "step", "normalize": "none"}
    ours = least(lambda: advantages(table, "gigpo", **settings))
    began = time.perf_counter()
    expected: Floats = stock.gigpo(names["group"], names["episode"], texts, made["reward"])
    theirs = time.perf_counter() - began
    difference = float(np.abs(expected - advantages(table, "gigpo", **settings)).max())
    if difference > 1e-9:
        raise AssertionError(f"the baseline and gigpo differ by {difference}: their times cannot be compared")
    name = f"credit: gigpo, {rows:,} rows, speed over row by row on texts"
    bar = f">= {TIMES_FASTER}" if rows == SMALL else None
    return row(name, theirs / ours, "times", bar, f"row by row {theirs:.2f} s, gigpo {ours * 1000:.2f} ms")
