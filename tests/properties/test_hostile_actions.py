"""No action raises out of `step`, for any text, and the environment can be reset afterwards.

Actions are drawn from broken JSON, wrong types, huge numbers, deep nesting, lone surrogates, control characters and
damaged admissible actions. Programs that attack the sandbox are in `tests/sandboxes/attacks`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cairn.core.errors import MissingDataError
from cairn.envs.base import TextEnv
from cairn.envs.registry import make

pytestmark = pytest.mark.rotating(3)

Info = dict[str, Any]  # Any: see TextEnv.step
QUICK = (
    "household", "webshop", "webshop/basket", "webshop/cheapest", "webshop/backtrack", "webshop/distractor",
    "gui/replay",
)  # fmt: skip
SANDBOXED: dict[str, tuple[str, dict[str, Any]]] = {  # environment and settings
    "code": ("code", {"kind": "tools", "turn_limit": 6}),
    "code, repair": ("code", {"kind": "repair", "turn_limit": 6}),
    "code, cruxeval": ("code", {"kind": "cruxeval", "turn_limit": 6}),
    "codeact": ("codeact", {"of": "household"}),
}
TEXTS = ("\ud800", "../../etc/passwd", "a" * 3000, "\0", "", "a", "\x1b[2J")
OTHERS: tuple[Any, ...] = (10**300, -1, 0, None, True, [], {}, 1.5, float("nan"))  # Any: JSON


def noise(rng: random.Random, longest: int) -> str:
    """Return printable, control and surrogate characters, and any others."""
    ranges = ((32, 127), (0, 32), (0xD800, 0xE000), (0, 0x110000))
    return "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randrange(longest)))


def damaged(rng: random.Random, listed: Sequence[str]) -> str:
    action = rng.choice(listed) if listed else "look"
    return rng.choice((action, action[: rng.randrange(len(action) + 1)] + noise(rng, 6), f"{action} {'9' * 4500}"))


def call(rng: random.Random, tools: Sequence[Any]) -> str:  # Any: JSON schemas
    if not tools:
        return json.dumps({"name": noise(rng, 9), "arguments": {noise(rng, 5): noise(rng, 9)}})
    tool = rng.choice(tools)["function"]
    arguments = {
        name: rng.choice(TEXTS if rng.random() < 0.8 else OTHERS)
        for name in tool["parameters"].get("properties", {})
        if rng.random() < 0.9
    }
    return json.dumps({"name": tool["name"], "arguments": arguments})


def hostile(rng: random.Random, info: Info) -> str:
    makers: tuple[Callable[[], str], ...] = (
        lambda: noise(rng, 60),
        lambda: noise(rng, 4000),
        lambda: "",
        lambda: damaged(rng, info["admissible_actions"] or ()),
        *[lambda: call(rng, info["tools"])] * 4,  # the most fragile
        lambda: "[" * rng.randrange(5000),
        lambda: '{"name":' * rng.randrange(500),
        lambda: "9" * rng.randrange(6000),
        lambda: json.dumps({"name": None, "arguments": rng.choice((None, [], 1, "x"))}),
        lambda: rng.choice(("search[%s]", "click[%s]", "read_file a %s", "run_python\n%s", "take %s")) % noise(rng, 30),
        lambda: f"search[{'(' * 2000}]",
        lambda: f"read_file a {'9' * rng.randrange(6000)}",
    )
    return rng.choice(makers)()


def play(env: TextEnv, count: int, seed: int = 0) -> None:
    rng, tasks = random.Random(seed), env.tasks()
    _, info = env.reset(seed=0, options={"task": tasks[0]})
    for number in range(count):
        action = hostile(rng, info)
        text, _, terminated, truncated, info = env.step(action)
        assert isinstance(text, str), action
        if terminated or truncated:
            _, info = env.reset(seed=number, options={"task": rng.choice(tasks)})
    env.close()


def made(name: str) -> TextEnv:
    env, settings = SANDBOXED[name]
    try:
        return make(env, **settings)
    except MissingDataError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", QUICK)
def test_no_action_raises(name: str) -> None:
    play(make(name), 1000)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", SANDBOXED)
def test_no_action_raises_where_actions_are_programs(name: str) -> None:
    play(made(name), 30 if name == "code, repair" else 100)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [*QUICK, *SANDBOXED])
def test_no_action_of_thousands_raises(name: str) -> None:
    play(made(name) if name in SANDBOXED else make(name), 5000, seed=1)
