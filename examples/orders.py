"""A tool agent, trained on its own calls: ``python examples/orders.py``.

A small fresh model gets a chat template with tools. It imitates some calls, then learns from reward to look up the
orders of a customer, read the number of the right one in the result, and refund it.
"""

from __future__ import annotations

import json
import random

import cairn
from cairn.core.records import Schema, function_schema
from cairn.envs.base import EnvMeta, Outcome, TextEnv

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon")
ITEMS = ("tea", "lamp", "desk", "coat", "vase", "soap", "drum", "kite")
TOOLS = (
    function_schema("find", "List orders.", {"name": {"type": "string"}}, ["name"]),
    function_schema("refund", "Refund an order.", {"order": {"type": "string"}}, ["order"]),
)
NUM_TASKS = 20_000


class Orders(TextEnv):
    """Refund the order that a customer asks for. A refund ends the episode, the wrong one without reward."""

    meta = EnvMeta(
        name="orders",
        version=1,
        turn_limit=4,
        reward_range=(0, 1),
        summary="Refund the right order.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("clerk",),
    )

    def tasks(self) -> list[str]:
        return [str(number) for number in range(NUM_TASKS)]

    def start(self, task_id: str, rng: random.Random) -> str:
        world = random.Random(int(task_id))
        self.name = world.choice(NAMES)
        numbers = world.sample(range(100, 1000), 3)
        self.orders = dict(zip(world.sample(ITEMS, 3), map(str, numbers), strict=True))
        self.item = world.choice(list(self.orders))
        self.has_list = False
        return f"Refund the {self.item} of {self.name}."

    def act(self, action: str) -> Outcome:
        name, value = read(action)
        if name == "find" and value == self.name:
            self.has_list = True
            return Outcome(" ".join(f"{item} {number}" for item, number in self.orders.items()))
        if name == "refund" and value in self.orders.values():
            is_right = value == self.orders[self.item]
            return Outcome("Done.", reward=float(is_right), terminated=True, success=is_right, score=float(is_right))
        return Outcome("There is no such name or order.")

    def state(self) -> bytes:
        return b"list" if self.has_list else b""

    def tools(self) -> tuple[Schema, ...]:
        return TOOLS

    def oracle_action(self, name: str) -> str:
        if self.has_list:
            return json.dumps({"name": "refund", "arguments": {"order": self.orders[self.item]}})
        return json.dumps({"name": "find", "arguments": {"name": self.name}})


def read(action: str) -> tuple[str, str]:
    """Return a call's tool and argument; empty texts for anything else."""
    try:
        call = json.loads(action)
        (value,) = call["arguments"].values()
        return str(call["name"]), str(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "", ""


SETTINGS = {
    "name": "orders",
    "env": {"id": "orders"},
    "model": {"chat_template": "chatml", "vocab_size": 600, "preset": "qwen3-tiny"},
    "agent": {"constrain": False, "context": {"method": "chat", "chat": {"tools": True, "instruction": ""}}},
    "sampling": {"max_reply_tokens": 48},
    "imitation": {"oracle": "clerk", "episodes": 1000, "epochs": 2, "batch": 16, "entropy_weight": 0.2},
    "trainer": {"updates": 40, "groups": 16, "group_size": 8},
    "learner": {"optimizer": {"kind": "muon", "lr": 8e-4, "muon_lr": 1.6e-3}},
    "eval": {"tasks": 100, "temperature": 1.0},
}

if __name__ == "__main__":
    cairn.register("orders", Orders)
    run = cairn.train(SETTINGS)
    print(f"success on {run.final.tasks}: {run.final.success}")
