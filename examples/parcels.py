"""A tool agent, trained on its own calls: ``python examples/parcels.py``.

A small fresh model gets a chat template with tools. It imitates a few hundred calls, then trains with rewards: look up
the room of a person, read it in the result, and send the parcel there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cairn

GUESTS = Path(__file__).with_name("guests.jsonl")
World = dict[str, Any]


def fill(world: World, task: dict[str, Any]) -> str:
    world.update(rooms={task["name"]: task["answer"]}, found=False, sent=None)
    return f'Send the parcel to "{task["name"]}".'


def find(world: World, name: str) -> str:
    """Find the room of a person."""
    world["found"] |= name in world["rooms"]
    return f'The room is "{world["rooms"][name]}".' if name in world["rooms"] else "There is no such person."


def send(world: World, room: str) -> str:
    """Send the parcel to a room."""
    world["sent"] = room
    return "Done."


def clerk(world: World, task: dict[str, Any]) -> dict[str, Any]:
    if world["found"]:
        return {"name": "send", "arguments": {"room": task["answer"]}}
    return {"name": "find", "arguments": {"name": task["name"]}}


parcels = cairn.tools_env(
    [find, send],
    name="parcels",
    tasks=GUESTS,
    world=dict,
    reset=fill,
    verify=lambda world, task: world["sent"] == task["answer"],
    finish=["send"],
    oracle=clerk,
    turn_limit=4,
)

if __name__ == "__main__":
    cairn.register("parcels", parcels)
    run = cairn.train(Path(__file__).with_name("small.toml"), {"env.id": "parcels", "trainer.updates": 40})
    print(f"success on {run.final.tasks}: {run.final.success}")
