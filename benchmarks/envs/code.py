"""Coding tasks: success of the reference and of trivial agents, and the speed of turns.

Kinds without data have a row with the reason. Two environments play at once, each with its own sessions.
"""

from __future__ import annotations

import ast
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.core.errors import MissingDataError
from cairn.envs.base import TextEnv
from cairn.envs.code import tasks
from cairn.envs.registry import make

_GENERATED = {"repair": 500, "tools": 500}  # seeds of kinds with unlimited tasks
_QUICK = 6
_AT_ONCE = 2
_SENSELESS = ("list_files", "run_tests", "shell true", "run_python\n1", "write_file notes\nx", "dance")


def measure(quick: bool) -> Measurement:
    """Play every kind; `quick` takes a few tasks of each."""
    rows: list[Row] = []
    for kind in tasks.names():
        try:
            rows += _kind(kind, quick)
        except MissingDataError as error:
            rows.append(row(f"code, {kind}: not measured: {error}", None, ""))
    return Measurement(rows=[*rows, *_speed(50 if quick else 500)])


def _kind(kind: str, quick: bool) -> Iterator[Row]:
    ids = [f"{kind}/{own}" for split in tasks.kind(kind).splits for own in tasks.kind(kind).ids(split)]
    count = min(_GENERATED.get(kind, len(ids)), _QUICK if quick else len(ids))
    chosen = [ids[i * len(ids) // count] for i in range(count)]
    solved, seconds = _share(kind, chosen, _reference)
    yield row(f"code, {kind}: solved by the reference, of {count}", solved, "share", ">= 1")
    yield row(f"code, {kind}: a whole episode of the reference, judged", seconds, "s")
    few = chosen[:: max(1, count // 50)]
    senseless: dict[str, Callable[[TextEnv, random.Random], str]] = {
        "nothing but submitting": _nothing,
        "20 turns at random": _at_random,
    }
    if tasks.problem(chosen[0]).solution:
        senseless["the reference's functions without their bodies"] = _stub
    for name, policy in senseless.items():
        yield row(f"code, {kind}: solved by {name}, of {len(few)}", _share(kind, few, policy)[0], "share", "<= 0")


def _share(kind: str, ids: list[str], policy: Callable[[TextEnv, random.Random], str]) -> tuple[float, float]:
    """Return the share of solved tasks, and the median time of an episode."""
    parts = [ids[i::_AT_ONCE] for i in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        found = [pair for part in threads.map(partial(_played, kind, policy), parts) for pair in part]
    return sum(success for success, _ in found) / len(found), statistics.median(seconds for _, seconds in found)


def _played(kind: str, policy: Callable[[TextEnv, random.Random], str], ids: list[str]) -> list[tuple[bool, float]]:
    found = []
    with make("code", kind=kind) as env:
        for task in ids:
            rng, began, terminated, info = random.Random(task), time.perf_counter(), False, {"success": False}
            env.reset(seed=0, options={"task": task})
            while not terminated:
                _, _, is_done, truncated, info = env.step(policy(env, rng))
                terminated = is_done or truncated
            found.append((bool(info["success"]), time.perf_counter() - began))
    return found


def _reference(env: TextEnv, _: random.Random) -> str:
    return env.oracle()


def _nothing(_env: TextEnv, _: random.Random) -> str:
    return "submit"


def _stub(env: TextEnv, _: random.Random) -> str:
    files = list(tasks.problem(env.task_id).solution.items())
    return f"write_file {files[env.turn][0]}\n{_emptied(files[env.turn][1])}" if env.turn < len(files) else "submit"


def _emptied(source: str) -> str:
    """Return a module with empty function bodies."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Pass()]
    return ast.unparse(tree) + "\n"


def _at_random(_env: TextEnv, rng: random.Random) -> str:
    return rng.choice(_SENSELESS)


def _speed(times: int) -> Iterator[Row]:
    with make("code", kind="repair", turn_limit=100_000) as env:
        env.reset(seed=0, options={"task": "repair/bank-0"})
        for name, action in (("a cell", "run_python\n1 + 1"), ("reading a file", "read_file README.md")):
            began = time.perf_counter()
            for _ in range(times):
                env.step(action)
            yield row(f"code: a turn with {name}", (time.perf_counter() - began) / times * 1000, "ms")
