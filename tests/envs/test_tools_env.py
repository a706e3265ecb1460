"""Functions as tools: an assistant on SQLite, error messages for models, and rejected arguments."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import cairn
from cairn.core.errors import CairnError, ConfigError
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from cairn.envs.world_state import state_bytes
from tests.sampling import sampled_params

NAMES = ("Ada", "Ben", "Cleo", "Dan")
TASKS = [
    {"question": f"How many open orders does {name} have? Cancel them.", "name": name, "open": number + 1}
    for number, name in enumerate(NAMES)
]


def new_database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)


def fill(world: sqlite3.Connection) -> None:
    world.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, state TEXT)")
    for number, name in enumerate(NAMES):
        world.executemany("INSERT INTO orders (name, state) VALUES (?, 'open')", [(name,)] * (number + 1))


def sql(world: sqlite3.Connection, query: str) -> str:
    """Run one SQL statement on the table orders(id, name, state).

    Args:
        query: a statement of SQLite's.
    """
    return "\n".join(map(str, world.execute(query).fetchmany(20))) or "Done."


def is_right(world: sqlite3.Connection, task: dict[str, Any], answer: str) -> bool:
    rest = world.execute("SELECT count(*) FROM orders WHERE state = 'open'").fetchone()[0]
    return answer == str(task["open"]) and rest == 10 - task["open"] and len(list(world.iterdump())) == 13


def clerk(world: sqlite3.Connection, task: dict[str, Any]) -> Any:
    where = f"name = '{task['name']}' AND state = 'open'"
    queries = [f"SELECT count(*) FROM orders WHERE {where}", f"UPDATE orders SET state = 'gone' WHERE {where}"]
    calls = [{"name": "sql", "arguments": {"query": query}} for query in queries]
    return calls if world.execute(queries[0]).fetchone()[0] else str(task["open"])


orders = cairn.tools_env(
    [sql], name="orders", tasks=TASKS, world=new_database, reset=fill, verify=is_right, oracle=clerk
)


def add(first: int, second: int = 1) -> int:
    return first + second


sums = cairn.tools_env(
    [add],
    name="sums",
    tasks=[{"question": f"{a} + {b}", "answer": a + b} for a in range(5) for b in range(4)],
    verify=cairn.scorers.number(),
    oracle=lambda task, turn: (
        {
            "name": "add",
            "arguments": dict(zip(("first", "second"), map(int, task["question"].split(" + ")), strict=True)),
        }
        if turn == 0
        else str(task["answer"])
    ),
    finish="tool",
    parallel=False,
)


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def begun(made: type[cairn.envs.tools_env.ToolsEnv], task: int = 0, **config: Any) -> cairn.envs.tools_env.ToolsEnv:
    env = made(**config)
    env.reset(seed=0, options={"task": env.tasks()[task]})
    return env


def tool(function: Callable[..., Any], **settings: Any) -> cairn.envs.tools_env.ToolsEnv:
    """Return an environment of one tool."""
    return begun(
        cairn.tools_env(
            [function], name="one", tasks=[{"question": "?"}], verify=lambda answer: answer == "yes", **settings
        )
    )


@pytest.mark.parametrize(("made", "name"), sampled_params([(m, p) for m in ("orders", "sums") for p in PROPERTIES], 3))
def test_the_properties_hold(made: str, name: str) -> None:
    report = check_property(name, Subject(f"{__name__}:{made}"))
    assert report.holds, report.detail


def test_an_episode_on_a_database() -> None:
    env = begun(orders, 1)
    text, reward, ended, _, info = env.step(env.oracle())  # two calls
    assert (text, info["results"]) == ("Result 1: (2,)\nResult 2: Done.", ("(2,)", "Done."))
    assert (reward, ended, info["takes_text"], info["max_calls"]) == (0.0, False, True, 16)
    text, reward, ended, _, info = env.step("2")
    assert (text, reward, ended, info["success"], info["score"]) == ("The end.", 1.0, True, True, 1.0)


def test_damage_does_not_win() -> None:
    env = begun(orders, 1)
    env.step(call("sql", query="DELETE FROM orders"))
    _, reward, ended, _, info = env.step("2")
    assert (reward, ended, info["success"]) == (0.0, True, False)


def test_each_episode_has_a_world_of_its_own_and_closes_it() -> None:
    one, other = begun(orders), begun(orders)
    start = one.anchor()
    one.step(call("sql", query="DELETE FROM orders"))
    assert other.step(call("sql", query="SELECT count(*) FROM orders"))[0] == "(10,)"
    assert one.anchor() != start
    assert other.anchor() == start  # looking changes nothing
    world = one._world
    one.reset(seed=0, options={"task": one.tasks()[0]})
    assert one.anchor() == start
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        world.execute("SELECT 1")


def test_the_result_of_an_invalid_call_is_its_error() -> None:
    env = begun(orders)
    said = {
        call("sql", query="DROP"): "OperationalError: incomplete input",
        call("sql", query=7): "The call of sql does not fit its schema: query: Input should be a valid string.",
        call("sql"): "The call of sql does not fit its schema: query: Field required.",
        call("sql", query="x", why=1): "why: Extra inputs are not permitted.",
        call("run"): "There is no tool 'run'. Call one of: sql.",
        '{"name": "sql", "arguments": {"query": "x}': "The call is not valid JSON: Unterminated string",
        '{"name": "sql", "arguments": [1]}': "In the call of sql, its arguments are not a JSON object.",
        " ": "Call one of the tools: sql.",
    }
    for action, why in said.items():
        text, reward, ended, _, _ = env.step(action)
        assert why in text
        assert (reward, ended) == (0.0, False)


def test_calls_after_the_end_of_the_task_are_not_carried_out() -> None:
    env = begun(sums)
    assert env.step(json.dumps([{"name": "add", "arguments": {"first": 1}}] * 2))[0] == "A turn has one call."
    several = cairn.tools_env(
        [add], name="several", tasks=[{"question": "?"}], verify=lambda answer: answer == "yes", finish="tool"
    )
    env = begun(several)
    calls = [
        *({"name": "add", "arguments": {"first": n}} for n in (1, 2)),
        {"name": "answer", "arguments": {"text": "yes"}},
    ]
    _, reward, ended, _, info = env.step(json.dumps([*calls, calls[0]]))
    assert info["results"] == ("2", "3", "The end.", "Not carried out: the task has ended.")
    assert (reward, ended, info["success"]) == (1.0, True, True)
    env.reset(seed=0)
    results = env.step(json.dumps(calls[:1] * 18))[-1]["results"]
    assert results[15:] == ("2", *["Not carried out: a turn has at most 16 calls."] * 2)


def test_a_text_ends_the_episode_or_does_not_as_is_asked() -> None:
    env = begun(sums, 6)
    assert env.step("3")[:3] == ("Call one of the tools: add, answer.", 0.0, False)
    assert env.step(call("answer"))[0] == "answer needs the argument 'text'."
    assert env.step(call("answer", text="It is 3"))[:3] == ("The end.", 1.0, True)


def test_a_tool_can_end_the_episode() -> None:
    made = cairn.tools_env(
        [add, loud], name="x", tasks=[{"question": "?"}], verify=lambda answer: answer == "3", finish=["add", "loud"]
    )
    env = begun(made)
    assert env.step("3")[:3] == ("Call one of the tools: add, loud.", 0.0, False)
    assert env.step(call("add", first="x"))[2] is False  # it was not called
    assert env.step(call("loud"))[2] is False  # it failed
    assert env.step(call("add", first=2))[:3] == ("3", 1.0, True)


def test_tools_can_be_listed_for_agents_that_are_shown_no_schemas() -> None:
    made = begun(sums, show_tools=True)
    text = made.reset(seed=0)[0]
    assert text.startswith('Tools, called as {"name": ..., "arguments": {...}}:\n{"name": "add"')
    assert '"name": "answer"' in text


class Place(BaseModel):
    city: str
    zip_code: Annotated[str, Field(pattern=r"^\d{5}$")]


class Options(TypedDict, total=False):
    loud: bool


@dataclass
class Room:
    places: list[Place]


def typed(
    when: date,
    room: Room,
    how: Literal["fast", "slow"],
    options: Options,
    many: set[int],
    pair: tuple[int, str] | None = None,
    _hidden: Annotated[int, Field(ge=1, description="Mine.")] = 3,
    json: str = "x",
) -> Any:
    """Do it.

    Further words.

    Args:
        when: The day
            of it.
        _hidden: Not this one.
    """
    return when.isoformat(), room.places[0].city, how, options, sorted(many), pair, _hidden, json


GOOD = {
    "when": "2026-01-02",
    "room": {"places": [{"city": "Rome", "zip_code": "12345"}]},
    "how": "fast",
    "options": {"loud": True},
    "many": [3, 1, 3],
}


def test_types_become_a_schema_without_references_and_arguments_become_the_types() -> None:
    env = tool(typed)
    (found,) = env.tools()
    function = found["function"]
    assert function["description"] == "Do it.\n\nFurther words."
    schema = function["parameters"]
    assert schema["required"] == ["when", "room", "how", "options", "many"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["when"] == {"type": "string", "format": "date", "description": "The day of it."}
    place = schema["properties"]["room"]["properties"]["places"]["items"]
    assert place["properties"]["zip_code"] == {"type": "string", "pattern": r"^\d{5}$"}
    assert schema["properties"]["_hidden"] == {"type": "integer", "minimum": 1, "default": 3, "description": "Mine."}
    assert not {"$ref", "$defs", '"title"'} & set(json.dumps(schema))
    assert "$ref" not in json.dumps(schema)
    text = env.step(call("typed", **GOOD))[0]
    assert json.loads(text) == ["2026-01-02", "Rome", "fast", {"loud": True}, [1, 3], None, 3, "x"]
    assert (
        "room.places.0.zip_code: String should match pattern"
        in env.step(call("typed", **{**GOOD, "room": {"places": [{"city": "", "zip_code": "1"}]}}))[0]
    )


def described(text: str) -> Callable[..., Any]:
    def work(n: int) -> int:
        return n

    work.__doc__ = text
    return work


@pytest.mark.parametrize(
    "text",
    [
        "Work.\n\nArgs:\n    n: How much.",
        "Work.\n\n:param n: How much.",
        "Work.\n\nParameters\n----------\nn : int\n    How much.",
    ],
)
def test_docstrings_of_each_style_describe_arguments(text: str) -> None:
    function = tool(described(text)).tools()[0]["function"]
    assert function["description"] == "Work."
    assert function["parameters"]["properties"]["n"]["description"] == "How much."


def no_hint(n):  # type: ignore[no-untyped-def]
    return n


def star(*n: int) -> int:
    return len(n)


def only(n: int, /) -> int:
    return n


def unknown_hint(n: Missing) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 0


def no_schema(n: Callable[[], int]) -> int:
    return 0


class Tree(BaseModel):
    below: list[Tree] = []


def endless(n: Tree) -> int:
    return 0


def needs_world(world: object, n: int) -> int:
    return n


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_hint, "The tool 'no_hint' has no type hint for 'n'"),
        (star, "The tool 'star' takes 'n' without its name"),
        (only, "The tool 'only' takes 'n' without its name"),
        (unknown_hint, "The type hints of the tool 'unknown_hint' cannot be read: name 'Missing' is not defined"),
        (no_schema, "The tool 'no_schema' has a type that has no JSON schema"),
        (endless, "The tool 'endless' has a type that has no JSON schema"),
        (needs_world, "has a parameter 'world', but no world is given"),
        (lambda: 0, "must be a function with a name of its own"),
        (7, "must be a function with a name of its own"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused(function: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        tool(function)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"tools": []}, "at least one tool"),
        ({"tools": [add, add]}, "Two tools are called 'add'"),
        ({"verify": lambda db, answer: 1.0}, "verify needs a parameter 'db'; it may have world, task, answer"),
        ({"reset": lambda seed: None}, "reset needs a parameter 'seed'; it may have world, task, rng"),
        ({"world": lambda path: None}, "world needs a parameter 'path'"),
        ({"tasks": [{"prompt": ""}]}, "Row 0 of the table has no column 'question'"),
        ({"verify": cairn.scorers.exact()}, "Row 0 of the table has no column 'answer'"),
        (
            {"verify": cairn.scorers.number(), "tasks": [{"question": "?", "answer": "x"}]},
            "Row 0 of the table: the answer 'x' cannot be compared with: it is not a number",
        ),
        ({"tasks": []}, "no rows"),
        ({"finish": ["close"]}, "finish names 'close', which is none of the tools: add"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], why: str) -> None:
    right: dict[str, Any] = {"tools": [add], "name": "x", "tasks": [{"question": "?"}], "verify": lambda answer: True}
    with pytest.raises(ConfigError, match=why):
        cairn.tools_env(**{**right, **settings})


async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


def loud() -> None:
    raise ValueError("x" * 2000)


def large() -> str:
    return "a" * 1_000_000


def raw() -> bytes:
    return b"\xffok"


def nothing() -> None:
    sys.stdout.write("heard by nobody")


def numbers() -> list[float]:
    return [1.0, float("inf")]


def odd() -> object:
    return object


@pytest.mark.parametrize(
    ("function", "arguments", "shown"),
    [
        (later, {"n": 1}, "2"),
        (loud, {}, "ValueError: x"),
        (large, {}, "[983616 further characters are left out.]"),
        (raw, {}, "\ufffdok"),
        (nothing, {}, "Done."),
        (numbers, {}, '[1.0, "Infinity"]'),
        (odd, {}, "<class 'object'>"),
        (add, {"first": "4"}, "5"),
        (add, {"first": 4.5}, "first: Input should be a valid integer"),
    ],
)
def test_every_result_or_exception_of_a_tool_is_a_text(
    function: Callable[..., Any], arguments: dict[str, Any], shown: str
) -> None:
    env = tool(function)
    text = env.step(call(function.__name__, **arguments))[0]
    assert shown in text
    assert len(text) < 17_000
    env.close()


def broken(world: object) -> str:
    raise CairnError("the server is gone")


def test_failures_of_resources_that_tools_need_are_raised() -> None:
    with pytest.raises(CairnError, match="server is gone"):
        tool(broken, world=dict).step(call("broken"))
    bound = cairn.tools_env(
        [sql], name="bound", tasks=[{"question": "?"}], verify=is_right, world=lambda: sqlite3.connect(":memory:")
    )
    env = begun(bound)
    with ThreadPoolExecutor() as other, pytest.raises(CairnError, match="check_same_thread=False"):
        other.submit(env.step, call("sql", query="SELECT 1")).result()


def test_scores_outside_of_their_range_are_failures() -> None:
    for score in (2.0, -1.0, float("nan")):
        made = cairn.tools_env([add], name="x", tasks=[{"question": "?"}], verify=lambda score=score: score)
        with pytest.raises(CairnError, match="from 0 to 1"):
            begun(made).step("done")


def test_further_measurements_are_channels() -> None:
    made = cairn.tools_env(
        [add],
        name="x",
        tasks=[{"question": "?"}],
        verify=lambda answer: (0.5, {"words": len(answer.split())}),
        channels=["words"],
    )
    _, reward, _, _, info = begun(made).step("three words here")
    assert (reward, info["success"], info["channels"]) == (0.5, False, {"words": 3})


# -- the contents of worlds -----------------------------------------------------------------------------------------


@dataclass
class Bag:
    things: list[Any] = field(default_factory=list)


class Own:
    def __init__(self, value: object) -> None:
        self.value = value

    def cairn_state(self) -> object:
        return self.value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": [1]}, {"a": [2]}),
        ([1], (1,)),
        ({1, 2}, {1, 3}),
        (Bag([1]), Bag([2])),
        (Place(city="a", zip_code="12345"), Place(city="b", zip_code="12345")),
        (Own(1), Own(2)),
        (date(2026, 1, 2), date(2026, 1, 3)),
        ({"a": Bag([Own(1)])}, {"a": Bag([Own(2)])}),
    ],
)
def test_contents_that_differ_differ_in_bytes(one: object, other: object) -> None:
    assert state_bytes(one) == state_bytes(one)
    assert state_bytes(one) != state_bytes(other)


def test_order_and_identity_do_not_count() -> None:
    assert state_bytes({"a": 1, "b": 2}) == state_bytes({"b": 2, "a": 1})
    assert state_bytes({3, 1, 2}) == state_bytes({2, 3, 1})
    assert state_bytes(Bag([1])) == state_bytes(Bag([1]))


def test_a_folder_is_its_files_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.txt").write_text("a")
    before = state_bytes(tmp_path)
    (tmp_path / "one" / "a.txt").write_text("b")
    assert state_bytes(tmp_path) != before
    (tmp_path / "one" / "a.txt").write_text("a")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert state_bytes(tmp_path) != before
    (tmp_path / "loop").unlink()
    assert state_bytes(tmp_path) == before


def test_a_database_is_its_rows() -> None:
    one, other = new_database(), new_database()
    fill(one)
    fill(other)
    assert state_bytes(one) == state_bytes(other)
    other.execute("UPDATE orders SET state = 'gone' WHERE id = 1")
    assert state_bytes(one) != state_bytes(other)


def test_unknown_objects_are_rejected_or_identified_by_the_actions_so_far() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for unknown in (object(), loop, {"a": object()}):
        with pytest.raises(TypeError):
            state_bytes(unknown)
    env = tool(needs_world, world=object)
    start = env.anchor()
    env.step(call("needs_world", n=1))
    assert env.anchor() != start  # a history of its own
    declared = tool(needs_world, world=object, state=lambda: "same")
    start = declared.anchor()
    declared.step(call("needs_world", n=1))
    assert declared.anchor() == start
    with pytest.raises(TypeError, match="object"):
        tool(needs_world, world=object, state=object)
