"""Arguments of evaluations from Python are checked as those of the command line are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cairn
from cairn.agents.evaluation.arguments import chosen_tasks, sampling_temperature, whole_number
from cairn.agents.evaluation.jobs import play_tasks
from cairn.core.errors import ConfigError

ENV = "tests.envs.faulty:Sound"
WRONG: tuple[tuple[str, Any, str], ...] = (
    ("tasks", 0, "tasks: expected a whole number of at least 1, got 0"),
    ("tasks", -1, "tasks: expected a whole number of at least 1, got -1"),
    ("tasks", 3.0, "tasks: expected a whole number of at least 1, got 3.0"),
    ("tasks", True, "tasks: expected a whole number of at least 1, got True"),
    ("tasks", None, "tasks: expected a whole number of at least 1, got None"),
    ("tasks", [], "tasks: expected at least one task id, got an empty list"),
    ("tasks", "blue-1", r"write tasks=\['blue-1'\]"),
    ("tasks", [7], "tasks: expected task ids, which are texts, got 7"),
    ("tasks", ["a", "b", "a"], "tasks: 'a' is listed twice"),
    ("seed", 1.5, "seed: expected a whole number, got 1.5"),
    ("seed", "1", "seed: expected a whole number, got '1'"),
    ("temperature", float("nan"), "temperature: expected a finite number of at least 0, got nan"),
    ("temperature", float("inf"), "temperature: expected a finite number of at least 0, got inf"),
    ("temperature", -1, "temperature: expected a finite number of at least 0, got -1"),
    ("temperature", "hot", "temperature: expected a finite number of at least 0, got 'hot'"),
    ("temperature", True, "temperature: expected a finite number of at least 0, got True"),
    ("temperature", 10**400, "temperature: expected a finite number of at least 0"),
)


@pytest.mark.parametrize(("name", "value", "says"), WRONG)
def test_a_wrong_argument_is_named(name: str, value: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        cairn.evaluate("random", ENV, **{name: value})
    with pytest.raises(ConfigError, match=says):
        play_tasks("random", ENV, **{name: value})


@pytest.mark.parametrize("attempts", [0, -1, 1.5, "2", False, 10_001])
def test_attempts_are_counted_from_one(attempts: Any) -> None:
    with pytest.raises(ConfigError, match="attempts: expected a whole number of at least 1 and at most 10000"):
        cairn.evaluate("random", ENV, attempts=attempts)


@pytest.mark.parametrize("name", ["config", "settings"])
@pytest.mark.parametrize("value", [3, "x", [1], {1: 2}])
def test_settings_are_tables(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected a table of settings by name"):
        cairn.evaluate("random", ENV, **{name: value})
    with pytest.raises(ConfigError, match="sampling: expected a table of settings by name"):
        cairn.evaluate("random", ENV, settings={"sampling": value})


def test_numpy_numbers_are_accepted() -> None:
    assert whole_number("seed", np.int64(-3)) == -3
    assert sampling_temperature(np.float32(0.5)) == 0.5
    assert chosen_tasks(["a", "b", "c"], np.int32(2)) == ["a", "b"]
    assert chosen_tasks(["a"], 5) == ["a"]
    assert chosen_tasks([], ("x", "y")) == ["x", "y"]
    assert len(play_tasks("random", ENV, tasks=np.int64(3), temperature=np.float64(0))[1]) == 3  # type: ignore[arg-type]
