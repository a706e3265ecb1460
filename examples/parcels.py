"""A tool agent, trained on its own calls: ``python examples/parcels.py``.

A hotel has six floors. The demonstrations are from a season in which guests live on any of them, so that a small fresh
model that imitates them searches a random floor. In the training tasks all guests live on the fourth floor, which no
text mentions: the model learns it from rewards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cairn

GUESTS = Path(__file__).with_name("guests.jsonl")
World = dict[str, Any]


def fill(world: World, task: dict[str, Any]) -> str:
    world.update(task, found=False, sent=None)
    return f'Send the parcel to "{task["name"]}".'


def find(world: World, name: str, floor: int) -> str:
    """Find the room of a guest on a floor."""
    world["found"] = (name, floor) == (world["name"], world["floor"])
    return f'The room is "{world["answer"]}".' if world["found"] else "There is no such guest."


def send(world: World, room: str) -> str:
    """Send the parcel to a room."""
    world["sent"] = room
    return "Done."


def clerk(world: World, task: dict[str, Any]) -> dict[str, Any]:
    if world["found"]:
        return {"name": "send", "arguments": {"room": task["answer"]}}
    return {"name": "find", "arguments": {"name": task["name"], "floor": task["floor"]}}


parcels = cairn.tools_env(
    [find, send],
    name="parcels",
    tasks=GUESTS,
    world=dict,
    reset=fill,
    verify=lambda world, task: world["sent"] == task["answer"],
    finish=["send"],
    oracle=clerk,
    turn_limit=2,
)

if __name__ == "__main__":
    cairn.register("parcels", parcels)
    run = cairn.train(Path(__file__).with_name("small.toml"), {"env.id": "parcels"})
    print(f"success on {run.final.tasks}: {run.final.success}")
