"""A new environment and a first training run on it: ``python examples/doors.py``."""

from __future__ import annotations

import random

import cairn
from cairn.env import EnvMeta, Outcome, TextEnv

COLOURS = ("amber", "blue", "green", "red", "violet", "white")


class Doors(TextEnv):
    """A note names one of six doors; take the key, then open that door. A wrong door ends the episode."""

    meta = EnvMeta(
        name="doors",
        version=1,
        turn_limit=6,
        reward_range=(0, 1),
        summary="Open the right door.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("reader",),
    )

    def tasks(self) -> list[str]:
        return [f"{colour}-{i}" for colour in COLOURS for i in range(50)]

    def start(self, task_id: str, rng: random.Random) -> str:
        self.goal, self.has_key = task_id.split("-")[0], False
        return f"A note says: {self.goal}. There is a key and {len(COLOURS)} doors."

    def act(self, action: str) -> Outcome:
        if action == "take key" and not self.has_key:
            self.has_key = True
            return Outcome("You have the key.")
        if self.has_key and action in self.admissible():
            is_right = action == f"open {self.goal}"
            return Outcome(
                "The door opens.", reward=float(is_right), terminated=True, success=is_right, score=float(is_right)
            )
        return Outcome("Nothing happens. Take the key, then open a door.")

    def state(self) -> bytes:
        return b"key" if self.has_key else b""

    def admissible(self) -> tuple[str, ...]:
        return tuple(f"open {colour}" for colour in COLOURS) if self.has_key else ("take key", "wait")

    def oracle_action(self, name: str) -> str:
        return f"open {self.goal}" if self.has_key else "take key"


if __name__ == "__main__":
    cairn.register("doors", Doors)
    run = cairn.train({"name": "doors", "env": {"id": "doors"}, "trainer": {"updates": 20, "groups": 8}})
    print(f"success on {run.final.tasks}: {run.final.success}")
