"""The web shop: conformance with WebShop's outputs, speed, memory, agents, and a large shop.

It uses generated shops, and the 1,000-product set if its files are available (CAIRN_DATA). The reference episodes were
recorded with a substitute for the original's search, which splits words at a fraction slash where Lucene does not; so
they are compared twice, with this index and with one that splits like the substitute.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from cairn.benchmarks.envs import _large_shop
from cairn.benchmarks.envs._measure import data_file, json_lines, memory_mb
from cairn.benchmarks.outcome import Measurement, ResultTable, Row, row
from cairn.benchmarks.process import in_fresh_process
from cairn.core.errors import MissingDataError
from cairn.envs.webshop import build
from cairn.envs.webshop.analyzer import terms, tokens
from cairn.envs.webshop.catalogue import Catalogue, make_catalogue
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.goals import Goals
from cairn.envs.webshop.shop import Shop

_ORIGINAL = "original engine on a machine like this, from docs/envs/webshop.md: 40 steps/s"
_START = "import cairn; env = cairn.make('webshop', source={source!r}); env.reset(seed=0)"
Info = dict[str, Any]  # Any: info's values are of many types


def measure(quick: bool) -> Measurement:
    """Measure; `quick` uses samples and takes under 45 s."""
    rows, tables = [*_many_shops(), *_agents("generated", 50 if quick else 200)], []
    rows += _large_shop.measure(20_000 if quick else 1_000_000)
    try:
        env = WebShopEnv(source="webshop-1000", splits="original", split="test")
    except MissingDataError as error:
        return Measurement(rows=[row(f"webshop: 1,000-product set not measured: {error}", None, ""), *rows])
    found, exceptions = _episodes(env)
    tables.append(exceptions)
    real = [*found, *_goals(env, quick), *_ranking(env.shop.catalogue), *_speed(env, quick), *_start_up()]
    return Measurement(rows=[*real, *_agents("webshop-1000", 50 if quick else 500), *rows], tables=tables)


def _row(name: str, value: float, unit: str, bar: str | None = None, baseline: str | None = None) -> Row:
    return row(f"webshop: {name}", value, unit, bar, baseline)


# -- conformance -------------------------------------------------------------------------------------------------------


def _episodes(env: WebShopEnv) -> tuple[list[Row], ResultTable]:
    """Replay the original's episodes, with Lucene's tokens and with the reference search's."""
    path = data_file("webshop", "ref_transcripts.jsonl.gz")
    assert path is not None  # the data set exists
    episodes = list(json_lines(path))
    differ = [(episode, found) for episode in episodes if (found := first_difference(env, episode))]
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(build, "tokens", _cut_as_the_references):
        catalogue = env.shop.catalogue
        cut = make_catalogue(Path(folder) / "cut", lambda: (catalogue[i] for i in range(len(catalogue))))
        as_made = WebShopEnv(source="webshop-1000")
        as_made.shop = Shop(cut, Goals(cut))
        same = sum(first_difference(as_made, episode) is None for episode in episodes)
    rows = [
        _row(f"reference episodes identical ({len(episodes)})", 1 - len(differ) / len(episodes), "share"),
        _row("reference episodes identical, search cut as theirs was", same / len(episodes), "share", ">= 1.0"),
    ]
    lines = tuple((f"goal/{episode['goal_index']}", episode["kind"], *found) for episode, found in differ)
    columns = ("task", "kind", "action", "what", "ours without theirs", "theirs without ours")
    return rows, ResultTable(title="Reference episodes that differ, where they first do", columns=columns, rows=lines)


def _cut_as_the_references(text: str) -> list[str]:
    return tokens(text.replace("\N{FRACTION SLASH}", " "))


def first_difference(env: WebShopEnv, episode: dict[str, Any]) -> tuple[str, ...] | None:  # Any: a line of JSON
    """Return the first difference from the reference: action, kind, and each side's parts."""
    text, _ = env.reset(seed=0, options={"task": f"goal/{episode['goal_index']}"})
    first = {"a": "reset", "obs": episode["obs0"], "avail": episode["avail0"], "r": 0.0, "done": False}
    reward, terminated = 0.0, False
    for step in [first, *episode["steps"]]:
        if step is not first:
            text, reward, terminated, _, _ = env.step(step["a"])
        found = {"obs": text, "avail": _available(env), "r": reward, "done": terminated}
        for what, value in found.items():
            if value != step[what]:
                return (step["a"][:40], what, *_only(str(value), str(step[what])))
        if terminated:
            return None
    return None


def _available(env: WebShopEnv) -> dict[str, object]:
    return {"has_search_bar": env.session.page == "search", "clickables": list(env.links)}


def _only(ours: str, theirs: str) -> tuple[str, str]:
    """Return the pieces of each text that differ at the same position, truncated."""
    pairs = list(zip(ours.split(" [SEP] "), theirs.split(" [SEP] "), strict=False))
    return ", ".join(a for a, b in pairs if a != b)[:60], ", ".join(b for a, b in pairs if a != b)[:60]


def _goals(env: WebShopEnv, quick: bool) -> list[Row]:
    path = data_file("webshop", "ref_goals_6910_seed0_shuffle233.json.gz")
    assert path is not None  # the data set exists
    with gzip.open(path, "rt") as file:
        reference = json.load(file)
    goals, catalogue = env.shop.goals, env.shop.catalogue
    same = sum(_same_goal(goals[i], goal) for i, goal in enumerate(reference["goals"])) if goals else 0
    priced = sum(
        (number := catalogue.find(asin)) is not None and float(goals.prices[number]) == price
        for asin, price in reference["prices"].items()
    )
    solvable = [env.can_solve(f"goal/{i}") for i in range(500 if quick else len(goals))]
    rows = [] if quick else [_row("goals that the reward lets be solved, of all", sum(solvable), "goals", ">= 6452")]
    return [
        _row(f"goals identical in order and content ({len(goals)})", same / len(reference["goals"]), "share", ">= 1.0"),
        _row(f"prices identical ({len(reference['prices'])})", priced / len(reference["prices"]), "share", ">= 1.0"),
        *rows,
        _row("goals that the reward lets be solved, of the first 500", sum(solvable[:500]), "goals", ">= 480"),
    ]


def _same_goal(goal: Any, reference: dict[str, Any]) -> bool:  # Any: a Goal, and JSON
    names = {"asin": "asin", "instruction": "instruction_text", "price_limit": "price_upper", "weight": "weight",
             "name": "name", "query": "query", "product_category": "product_category"}  # fmt: skip
    return (
        all(getattr(goal, ours) == reference[theirs] for ours, theirs in names.items())
        and list(goal.attributes) == reference["attributes"]
        and list(goal.options.items()) == list(reference["goal_options"].items())
    )


def _ranking(catalogue: Catalogue) -> list[Row]:
    """Compare rankings and terms with Lucene's."""
    path, vectors = data_file("webshop", "ref_bm25_queries_top50.jsonl.gz"), _term_vectors()
    assert path is not None  # the data set exists
    queries = list(json_lines(path))
    start = time.perf_counter()
    found = [[catalogue.asin(number) for number in catalogue.search(query["q"])] for query in queries]
    mean_ms = (time.perf_counter() - start) / len(queries) * 1000
    wanted = [[asin for asin, _ in query["hits"]] for query in queries]
    top10 = sum(a[:10] == b[:10] for a, b in zip(found, wanted, strict=True)) / len(queries)
    top50 = sum(a == b for a, b in zip(found, wanted, strict=True)) / len(queries)
    same = sum(Counter(terms(catalogue[i].document)) == counts for i, counts in enumerate(vectors))
    return [
        _row(f"top 10 identical to Lucene's ({len(queries)} queries)", top10, "share", ">= 1.0"),
        _row(f"top 50 identical to Lucene's ({len(queries)} queries)", top50, "share", ">= 0.99"),
        _row(f"term vectors identical to Lucene's ({len(vectors)} products)", same / len(vectors), "share"),
        _row("a search, mean", mean_ms, "ms"),
    ]


def _term_vectors() -> list[Counter[str]]:
    path = data_file("webshop", "lucene_termvectors_1k.tsv.gz")
    assert path is not None  # the data set exists
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return [Counter({line[i]: int(line[i + 1]) for i in range(0, len(line) - 1, 2)}) for line in lines]


# -- speed and memory --------------------------------------------------------------------------------------------------


def _speed(env: WebShopEnv, quick: bool) -> list[Row]:
    """Time `step` under a random policy; without the policy's time and without resets."""
    rates = sorted(_steps_per_second(env, 1.0 if quick else 5.0, seed) for seed in range(3))
    return [
        _row("steps/s on 1,000 products, random policy, median of 3", rates[1], "steps/s", ">= 2000", _ORIGINAL),
        _row("steps/s, spread of 3", rates[2] - rates[0], "steps/s"),
    ]


def _steps_per_second(env: WebShopEnv, seconds: float, seed: int) -> float:
    rng = random.Random(seed)
    steps, spent = 0, 0.0
    while spent < seconds:
        _, info = env.reset(options={"task": rng.choice(env.tasks())})
        is_done = False
        while not is_done:
            action = _random_action(info, rng)
            start = time.perf_counter()
            _, _, terminated, truncated, info = env.step(action)
            spent += time.perf_counter() - start
            steps, is_done = steps + 1, terminated or truncated
    return steps / spent


def _random_action(info: Info, rng: random.Random) -> str:
    return str(rng.choice(info["admissible_actions"]))


def _start_up() -> list[Row]:
    """Time a fresh process up to the first observation, with an existing catalogue."""
    rows = []
    for source in ("webshop-1000", "generated"):
        program = [sys.executable, "-c", _START.format(source=source)]
        seconds = []
        for _ in range(4):
            start = time.perf_counter()
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
        rows.append(_row(f"start of a process to the first page, {source}, median", sorted(seconds[1:])[1], "s", "< 2"))
    return rows


def _many_shops() -> list[Row]:
    megabytes = in_fresh_process(_memory_of, 256)
    return [_row("memory of one process with 256 environments in play", megabytes, "MB", "< 1536")]


def _memory_of(count: int) -> float:
    envs = [WebShopEnv() for _ in range(count)]
    rng = random.Random(0)
    for env in envs:
        _, info = env.reset(seed=0)
        for _ in range(5):
            env.step(_random_action(info, rng))
    return memory_mb()


# -- agents ------------------------------------------------------------------------------------------------------------


def _agents(source: str, count: int) -> list[Row]:
    """Play the first test goals with the oracle and with trivial agents."""
    env = WebShopEnv(source=source, split="test", splits="original" if source == "webshop-1000" else "by-product")
    tasks = env.tasks()[:count]
    ceiling = sum(map(env.can_solve, tasks)) / len(tasks)
    rng = random.Random(0)
    policies: list[tuple[str, Callable[[Info], str], str | None]] = [
        ("oracle", lambda info: env.oracle(), f">= {ceiling}"),
        ("constant agent", lambda info: "click[buy now]", "<= 0"),
        ("random agent", lambda info: _random_action(info, rng), "<= 0.05"),
        ("agent that buys the first result", lambda info: first_result(env, info), "<= 0.5"),
    ]
    where = f"{len(tasks)} test goals of {source}"
    rows = [_row(f"ceiling of {where}", ceiling, "share")]
    for name, policy, bar in policies:
        success, score = _evaluate(env, tasks, policy)
        rows.append(_row(f"{name}'s success on {where}", success, "share", bar))
        rows.append(_row(f"{name}'s score on {where}", score, "mean"))
    return rows


def first_result(env: WebShopEnv, info: Info) -> str:
    """Return the next action: search for the instruction, open the first result, buy it."""
    if env.session.page == "search":
        return f"search[{env.goal(info['task_id']).instruction}]"
    products = [label for label, piece in env.links.items() if piece.kind == "product"]
    return f"click[{products[0]}]" if products else "click[buy now]"


def _evaluate(env: WebShopEnv, tasks: Sequence[str], policy: Callable[[Info], str]) -> tuple[float, float]:
    infos = list(_ends(env, tasks, policy))
    return sum(i["success"] for i in infos) / len(infos), sum(i["score"] for i in infos) / len(infos)


def _ends(env: WebShopEnv, tasks: Sequence[str], policy: Callable[[Info], str]) -> Iterator[Info]:
    for task in tasks:
        _, info = env.reset(seed=0, options={"task": task})
        is_done = False
        while not is_done:
            _, _, terminated, truncated, info = env.step(policy(info))
            is_done = terminated or truncated
        yield info
