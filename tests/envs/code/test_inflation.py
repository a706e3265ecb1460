"""An agent that solves 2 of 8 tasks and breaks the sandbox of the others has solved 25 %."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from cairn.agents.backend import TurnContext
from cairn.agents.evaluation.jobs import play_tasks
from cairn.envs.base import Outcome
from cairn.envs.code.env import CodeEnv
from tests.sampling import sampled_params
from tests.sandboxes.usable import usable

pytestmark = pytest.mark.rotating(3)

DEEP = """run_python
import os
for _ in range(600):  # each level makes all paths below it longer
    os.mkdir("d" * 255)
    os.chdir("d" * 255)
"""
HUGE = """run_python
for number in range(500):
    with open(f"sparse-{number}", "wb") as file:
        file.truncate(30 << 20)
"""
UNREADABLE = """run_python
import os
os.mkdir("locked")
open("locked/file", "w").close()
os.chmod("locked", 0)
os.chmod(".", 0)
"""
PROGRAMS = {"deep folders": DEEP, "sparse files": HUGE, "unreadable folders": UNREADABLE}


class Broken(CodeEnv):
    """The sandbox of every task fails at the word `break`, as if a program had found a way."""

    def act(self, action: str) -> Outcome:
        if action == "break":
            self._shop.session.run(["true"])
            place: Any = self._shop.session._place  # of any kind on this machine
            process = getattr(place, "_place", place)._process
            process.kill()
            process.wait()
            return super().act("shell true")
        return super().act(action)


def evaluate(monkeypatch: pytest.MonkeyPatch, env: str, kind: str, breaks: str) -> tuple[int, int, int]:
    """Return how many episodes were solved, counted and excluded."""
    usable(kind)
    names: dict[str, int] = {}

    def script(_: str) -> object:
        def answer(scene: TurnContext, rng: random.Random) -> str:
            if names.setdefault(scene.task_id, len(names)) < 2:
                return scene.oracle(None)
            return breaks if scene.turn < 2 else "submit"

        return answer

    monkeypatch.setattr("cairn.agents.backends.scripted.script", script)
    config = {"kind": "tools", "sandbox": kind, "turn_limit": 4}
    report, episodes = play_tasks("oracle", env, config=config, tasks=8)
    assert len(episodes) == 8
    return report.success.successes, report.success.episodes, report.failed


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_tasks_whose_sandbox_breaks_are_not_solved(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    env = "tests.envs.code.test_inflation:Broken"
    assert evaluate(monkeypatch, env, kind, "break") == (2, 8, 0)


@pytest.mark.parametrize(("program", "kind"), sampled_params(product(PROGRAMS, ["bubblewrap", "landlock"]), parts=3))
def test_programs_that_aim_at_the_listing_solve_nothing(
    monkeypatch: pytest.MonkeyPatch, program: str, kind: str
) -> None:
    assert evaluate(monkeypatch, "code", kind, PROGRAMS[program]) == (2, 8, 0)
