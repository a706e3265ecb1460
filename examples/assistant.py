"""A SQL assistant, trained on its own queries: ``python examples/assistant.py``.

Each episode has its own database with one table for each floor of a hotel. The demonstrations have guests on any floor,
the training tasks on the fourth only: the model learns from rewards which table to query.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import cairn
from cairn import scorers

GUESTS = Path(__file__).with_name("guests.jsonl")


def fill(world: sqlite3.Connection, task: dict[str, Any]) -> None:
    world.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # no query reaches a file
    world.executescript("".join(f"CREATE TABLE floor_{n} (name TEXT, room TEXT);" for n in range(1, 7)))
    world.execute(f"INSERT INTO floor_{task['floor']} VALUES (?, ?)", (task["name"], task["answer"]))


def sql(world: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    """Run one SQL statement. The tables are floor_1 to floor_6(name, room)."""
    return world.execute(query).fetchmany(20)


def clerk(task: dict[str, Any], turn: int) -> dict[str, Any] | str:
    query = f"SELECT room FROM floor_{task['floor']} WHERE name = '{task['name']}'"
    return task["answer"] if turn else {"name": "sql", "arguments": {"query": query}}


connect = partial(sqlite3.connect, ":memory:", check_same_thread=False)
assistant = cairn.tools_env(
    [sql], name="assistant", tasks=GUESTS, world=connect, reset=fill, verify=scorers.exact(), oracle=clerk, turn_limit=2
)

if __name__ == "__main__":
    cairn.register("assistant", assistant)
    run = cairn.train(Path(__file__).with_name("small.toml"), {"env.id": "assistant"})
    print(f"success on {run.final.tasks}: {run.final.success}")
