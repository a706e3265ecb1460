"""A Gymnasium environment as an environment for agents, and a first training run on it: ``python examples/lake.py``."""

from __future__ import annotations

from functools import partial

import gymnasium

import cairn

lake = cairn.wrap(
    partial(gymnasium.make, "FrozenLake-v1", is_slippery=False, render_mode="ansi"),
    name="lake",
    actions=["left", "down", "right", "up"],
    success=lambda env: env.unwrapped.desc.flat[env.unwrapped.s] == b"G",
    instruction="Walk over the ice from S to G. H is a hole.",
)

if __name__ == "__main__":
    cairn.register("lake", lake)
    run = cairn.train({"name": "lake", "env": {"id": "lake"}, "trainer": {"updates": 20, "group_size": 16}})
    print(f"success on {run.final.tasks}: {run.final.success}")
