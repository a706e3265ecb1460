"""The household: conformance with ALFWorld, speed on one core, oracles, trivial agents.

It uses generated houses, and real games if their files are available (CAIRN_DATA). The original engine is timed in the
same run if the extra ``alfworld`` is installed.
"""

from __future__ import annotations

import importlib.util
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from cairn.benchmarks.envs._measure import data_file, json_lines, memory_mb, open_files
from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.core.errors import CairnError, MissingDataError
from cairn.envs.household.env import HouseholdEnv
from cairn.envs.household.games import load_row, open_split
from cairn.envs.household.generator import Size
from cairn.envs.household.world import HouseState

_SIZES = get_args(Size)
_REFERENCES = (("ref_valid_seen", "valid_seen"), ("ref_train40", "train"))


def measure(quick: bool) -> Measurement:
    """Measure; `quick` uses samples and takes under 45 s."""
    rows = [*_generated(quick), *_steadiness()]
    try:
        open_split("valid_unseen")
    except MissingDataError as error:
        return Measurement(rows=[*rows, _skipped("real games", str(error))])
    return Measurement(rows=[*_conformance(), *_speed(quick), *_loading(), *_real(quick), *rows])


def _row(name: str, value: float, unit: str, bar: str | None = None, baseline: str | None = None) -> Row:
    return row(f"household: {name}", value, unit, bar, baseline)


def _skipped(name: str, reason: str) -> Row:
    return row(f"household: {name} not measured: {reason}", None, "")


# -- conformance -------------------------------------------------------------------------------------------------------


def _conformance() -> list[Row]:
    """Replay the original engine's transcripts and count equal results."""
    same: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for reference, split in _REFERENCES:
        path = data_file("alfworld", f"{reference}.jsonl.gz")
        if path is None:
            return [_skipped("conformance", f"no alfworld/{reference}.jsonl.gz under CAIRN_DATA")]
        env = HouseholdEnv(split=split)
        for game in json_lines(path):
            for what, is_same in _compare(env, game):
                same[what] += is_same
                total[what] += 1
    return [_row(f"conformance, {what} ({total[what]})", same[what] / total[what], "share", ">= 1.0") for what in total]


def _compare(env: HouseholdEnv, game: dict[str, Any]) -> Iterator[tuple[str, bool]]:  # Any: a line of JSON
    for episode in ("walkthrough", "random"):
        text, info = env.reset(options={"task": game["game"]})
        yield "intros", text == game["intro"]
        yield "admissible lists", list(info["admissible_actions"]) == game["intro_admissible"]
        for step in game[episode]:
            text, _, terminated, _, info = env.step(step["a"])
            yield "observations", text == step["obs"]
            yield "scores", info["score"] == step["score"]
            yield "endings", (terminated, info["success"]) == (step["done"], step["won"])
            yield "admissible lists", list(info["admissible_actions"]) == step["adm"]
            if terminated:
                break


# -- speed -------------------------------------------------------------------------------------------------------------


def _speed(quick: bool) -> list[Row]:
    """Time `step` under a random policy on real games, and that of the original engine."""
    env = HouseholdEnv(split="valid_unseen")
    rates = sorted(_steps_per_second(env, seconds=1.0 if quick else 5.0, seed=seed) for seed in range(3))
    original = _original_rate(seconds=6.0 if quick else 40.0)
    named = None if original is None else f"original engine, one game: {original:.1f} steps/s"
    rows = [_row("steps/s on real games, random policy, median of 3", rates[1], "steps/s", ">= 20000", named)]
    rows.append(_row("steps/s, spread of 3", rates[2] - rates[0], "steps/s"))
    if original is None:
        return [
            *rows,
            _skipped("original engine", "needs pip install -e '.[alfworld]' and alfred.pddl, alfred.twl2"),
        ]
    return [*rows, _row("speed over the original engine", rates[1] / original, "times", baseline=named)]


def _steps_per_second(env: HouseholdEnv, seconds: float, seed: int) -> float:
    """Return steps per second, with the policy's time and without resets."""
    rng = random.Random(seed)
    steps, spent = 0, 0.0
    while spent < seconds:
        _, info = env.reset(options={"task": rng.choice(env.tasks())})
        start = time.perf_counter()
        steps += len(_play(env, info, lambda info: rng.choice(info["admissible_actions"])))
        spent += time.perf_counter() - start
    return steps / spent


def _play(env: HouseholdEnv, info: dict[str, Any], policy: Callable[[dict[str, Any]], str]) -> list[float]:
    """Play an episode to its end and return its rewards."""  # Any: info's values are of many types
    rewards = []
    is_done = False
    while not is_done:
        _, reward, terminated, truncated, info = env.step(policy(info))
        rewards.append(reward)
        is_done = terminated or truncated
    return rewards


def _original_rate(seconds: float) -> float | None:
    """Return the original engine's steps per second with admissible commands, without resets."""
    domain, grammar = data_file("alfworld", "alfred.pddl"), data_file("alfworld", "alfred.twl2")
    games = data_file("alfworld", "valid_unseen.jsonl.gz")
    if importlib.util.find_spec("alfworld") is None or domain is None or grammar is None or games is None:
        return None
    import textworld  # type: ignore[import-not-found,unused-ignore]  # comes with the extra "alfworld"
    from alfworld.agents.environment.alfred_tw_env import (  # type: ignore[import-not-found,unused-ignore]
        AlfredDemangler,
    )

    row = next(json_lines(games))
    game = {
        "pddl_domain": domain.read_text(),
        "grammar": grammar.read_text().replace("Your task is to: UNKNOWN GOAL.", row["task"]),
        "pddl_problem": row["pddl_problem"],
        "solvable": True,
        "walkthrough": row["walkthrough"],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "game.tw-pddl"
        file.write_text(json.dumps(game))
        wanted = textworld.EnvInfos(won=True, admissible_commands=True)
        env = textworld.start(str(file), wanted, wrappers=[AlfredDemangler(shuffle=False)])
        return _time_original(env, seconds)


def _time_original(env: Any, seconds: float) -> float:  # Any: TextWorld has no types
    rng = random.Random(0)
    steps, spent = 0, 0.0
    while spent < seconds:
        state, is_done = env.reset(), False
        start = time.perf_counter()
        for _ in range(50):
            state, _, is_done = env.step(rng.choice(state["admissible_commands"]))
            steps += 1
            if is_done:
                break
        spent += time.perf_counter() - start
    return steps / spent


def _loading() -> list[Row]:
    """Time a game from its text in memory to its first observation and admissible actions."""
    path = data_file("alfworld", "valid_unseen.jsonl.gz")
    if path is None:
        return [_skipped("loading a game", "no compact valid_unseen.jsonl.gz")]
    games = list(json_lines(path))
    start = time.perf_counter()
    for game in games:
        world = HouseState(load_row(game, game["id"]))
        if not world.house.intro() or not world.options:
            raise CairnError(f"Game {game['id']!r} has nothing to show")
    mean_ms = (time.perf_counter() - start) / len(games) * 1000
    return [_row("loading a game, mean over valid_unseen", mean_ms, "ms", "< 5")]


# -- leaks, oracles and trivial agents ---------------------------------------------------------------------------------


def _steadiness() -> list[Row]:
    """Measure memory growth over ten thousand resets, with caches filled before."""
    resets = 10_000
    env = HouseholdEnv(num_tasks=resets)
    tasks = env.tasks()
    for task in tasks[: resets // 10]:
        env.reset(options={"task": task})
    memory, files = memory_mb(), open_files()
    for task in tasks:
        env.reset(options={"task": task})
    return [
        _row(f"memory growth over {resets:,} resets", memory_mb() - memory, "MB", "< 5"),
        _row(f"growth in open files over {resets:,} resets", open_files() - files, "files", "<= 0"),
    ]


def _generated(quick: bool) -> list[Row]:
    count = 150 if quick else 1000
    rows: list[Row] = []
    for size in _SIZES:
        env = HouseholdEnv(split="gen-test", size=size, num_tasks=count)
        rows += _solve(env, f"{count} generated {size} houses", env.tasks())
    env = HouseholdEnv(split="gen-test", num_tasks=count)
    return [*rows, *_senseless(env, f"{count} generated small houses", env.tasks())]


def _real(quick: bool) -> list[Row]:
    rows: list[Row] = []
    for split in ("train", "valid_seen", "valid_unseen"):
        env = HouseholdEnv(split=split)
        tasks = env.tasks()[:: 12 if quick and split == "train" else 1]
        rows += _solve(env, f"{len(tasks)} games of {split}", tasks)
    return [*rows, *_senseless(env, f"{len(tasks)} games of valid_unseen", tasks)]


def _solve(env: HouseholdEnv, where: str, tasks: Sequence[str]) -> list[Row]:
    rows = []
    for oracle, bar in (("planner", ">= 1.0"), ("explorer", ">= 0.97")):
        success, turns = _evaluate(env, tasks, partial(_ask, env, oracle))
        rows.append(_row(f"{oracle}'s success on {where}", success, "share", bar))
        rows.append(_row(f"{oracle}'s turns on {where}", turns, "turns"))
    return rows


def _ask(env: HouseholdEnv, oracle: str, _: dict[str, Any]) -> str:  # Any: info's values are of many types
    return env.oracle(oracle)


def _senseless(env: HouseholdEnv, where: str, tasks: Sequence[str]) -> list[Row]:
    rng = random.Random(0)
    random_success, _ = _evaluate(env, tasks, lambda info: rng.choice(info["admissible_actions"]))
    constant_success, _ = _evaluate(env, tasks, lambda info: str(info["admissible_actions"][0]))
    return [
        _row(f"random agent's success on {where}", random_success, "share", "<= 0.1"),
        _row(f"constant agent's success on {where}", constant_success, "share", "<= 0"),
    ]


def _evaluate(
    env: HouseholdEnv, tasks: Sequence[str], policy: Callable[[dict[str, Any]], str]
) -> tuple[float, float]:  # Any: info's values are of many types
    """Return the share of solved tasks and the mean number of turns."""
    solved = turns = 0
    for task in tasks:
        _, info = env.reset(options={"task": task})
        rewards = _play(env, info, policy)
        solved += rewards[-1] > 0
        turns += len(rewards)
    return solved / len(tasks), turns / len(tasks)
