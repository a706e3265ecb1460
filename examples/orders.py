"""A tool agent, trained on its own calls: ``python examples/orders.py``.

A small fresh model gets a chat template with tools. It imitates a few calls, then learns from reward to look up the
order of a customer, read its number in the result, and refund it.
"""

from __future__ import annotations

import random
from typing import Any

import cairn

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon", "Kim", "Lea", "Max", "Nora", "Otto")
World = dict[str, Any]


def tasks(count: int = 5000) -> list[dict[str, Any]]:
    chance = random.Random(0)
    found = []
    for number in range(count):
        name, order = chance.choice(NAMES), str(chance.randrange(100, 1000))
        found.append({"id": number, "question": f"Refund the order of {name}.", "name": name, "order": order})
    return found


def fill(world: World, task: dict[str, Any]) -> None:
    world.update(orders={task["name"]: task["order"]}, found=False, refunded=None)


def find(world: World, name: str) -> str:
    """Find the order of a customer."""
    world["found"] |= name in world["orders"]
    return f"Order {world['orders'][name]}." if name in world["orders"] else "There is no such customer."


def refund(world: World, order: str) -> str:
    """Refund an order."""
    world["refunded"] = order
    return "Done."


def clerk(world: World, task: dict[str, Any]) -> dict[str, Any]:
    name, argument = ("refund", "order") if world["found"] else ("find", "name")
    return {"name": name, "arguments": {argument: task[argument]}}


orders = cairn.tools_env(
    [find, refund],
    name="orders",
    tasks=tasks(),
    world=dict,
    reset=fill,
    verify=lambda world, task: world["refunded"] == task["order"],
    finish=["refund"],
    oracle=clerk,
    turn_limit=4,
)

SETTINGS = {
    "name": "orders",
    "env": {"id": "orders", "config": {"split": "train"}},
    "model": {"chat_template": "chatml", "vocab_size": 600, "preset": "qwen3-tiny"},
    "agent": {"constrain": False, "context": {"method": "chat", "chat": {"tools": True, "instruction": ""}}},
    "sampling": {"max_reply_tokens": 48},
    "imitation": {"oracle": "oracle", "episodes": 400, "epochs": 1, "batch": 16, "entropy_weight": 0.2},
    "trainer": {"updates": 40, "groups": 16, "group_size": 8},
    "learner": {"optimizer": {"kind": "muon", "lr": 8e-4, "muon_lr": 1.6e-3}},
    "eval": {"tasks": 100, "temperature": 1.0, "config": {"split": "test"}},
}

if __name__ == "__main__":
    cairn.register("orders", orders)
    run = cairn.train(SETTINGS)
    print(f"success on {run.final.tasks}: {run.final.success}")
