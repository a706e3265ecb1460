"""An environment with tools, for tests of agents."""

from __future__ import annotations

import random

from cairn.core.records import Schema, function_schema
from cairn.envs.base import EnvMeta, Outcome, TextEnv

LOOK = function_schema("look_up", "Show an order.", {"order": {"type": "string"}}, ["order"])


class Desk(TextEnv):
    """One tool, which solves the task."""

    meta = EnvMeta(
        name="desk", version=1, turn_limit=2, reward_range=(0, 1), summary="Look an order up.", is_deterministic=True
    )

    def tasks(self) -> list[str]:
        return ["A1", "A2"]

    def start(self, task_id: str, rng: random.Random) -> str:
        return f"A customer asks for order {task_id}."

    def act(self, action: str) -> Outcome:
        is_right = "look_up" in action and self.task_id in action
        return Outcome(
            "An order.", reward=float(is_right), terminated=is_right, success=is_right, score=float(is_right)
        )

    def state(self) -> bytes:
        return b""

    def tools(self) -> tuple[Schema, ...]:
        return (LOOK,)
