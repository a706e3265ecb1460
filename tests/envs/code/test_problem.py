"""How much a coding task asks to be written."""

from __future__ import annotations

import pytest

from cairn.envs.code.problem import Problem, level
from cairn.envs.registry import make


@pytest.mark.parametrize(
    ("files", "solution", "expected"),
    [
        ({}, {"a.py": "x = 1\n\ny = 2\n"}, "1"),  # two lines: empty ones do not count
        ({"a.py": "def f():\n    return 1\n"}, {"a.py": "def f():\n    return 2\n"}, "1"),  # one is changed
        ({}, {"a.py": "x = 1\n" * 3}, "2"),
        ({"a.py": "x = 1\n"}, {"a.py": "x = 1\n" * 6}, "2"),  # five more of one
        ({}, {"a.py": "x = 1\n" * 3, "b.py": "y = 2\n" * 3}, "3"),
        ({}, {"a.py": "x = 1\n" * 12}, "3"),
        ({}, {"a.py": "x = 1\n" * 13}, "4"),
        ({"a.py": "x = 1\n"}, {}, ""),
    ],
)
def test_levels_count_the_lines_that_are_added(files: dict[str, str], solution: dict[str, str], expected: str) -> None:
    assert level(Problem(instruction="", files=files, solution=solution)) == expected


def test_repairs_are_graded_and_jobs_are_not() -> None:
    with make("code", kind="repair") as repairs, make("code", kind="tools") as jobs:
        assert {repairs.difficulty(task) for task in repairs.tasks()[:60]} == {"1", "2"}
        assert jobs.difficulty(jobs.tasks()[0]) == ""
