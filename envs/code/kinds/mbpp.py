"""MBPP: write a function from one sentence and an example; 974 tasks in the paper's splits."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from cairn.envs.code.data import rows
from cairn.envs.code.judge import HiddenTests
from cairn.envs.code.problem import Problem

_FILE = "mbpp/mbpp.jsonl"
_RANGES = {"prompt": (1, 10), "test": (11, 510), "validation": (511, 600), "train": (601, 974)}


class Mbpp:
    """The tasks of the original file; the agent sees the first assertion, and all of them judge."""

    splits = tuple(_RANGES)
    has_tests = True

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids."""
        first, last = _RANGES[split]
        return [str(row["task_id"]) for row in rows(_FILE) if first <= row["task_id"] <= last]

    def load(self, task_id: str) -> Problem:
        """Return a task."""
        row = next((row for row in rows(_FILE) if str(row["task_id"]) == task_id), None)
        if row is None:
            raise KeyError(task_id)
        shown, *_ = row["test_list"]
        setup = row["test_setup_code"].replace("\r", "")
        names = _defined(row["code"])
        return Problem(
            instruction=f"{row['text']} Write it to solution.py. It must pass: {shown}",
            files={"visible_tests.py": f"from solution import *\n{setup}\n\ndef test_example():\n    {shown}\n"},
            visible="visible_tests.py",
            given=("visible_tests.py",),
            job=HiddenTests(
                style="asserts",
                tests="\n".join([setup, *row["test_list"], *row["challenge_test_list"]]),
                prelude="import math\nimport sys\n",
                modules=("solution",),
                names={name: ("solution", name) for name in names if _is_used(name, row)},
            ),
            solution={"solution.py": row["code"].replace("\r", "")},
        )


def _defined(code: str) -> list[str]:
    body = ast.parse(code.replace("\r", "")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _is_used(name: str, row: dict[str, Any]) -> bool:  # Any: JSON
    tests = "\n".join([row["test_setup_code"].replace("\r", ""), *row["test_list"], *row["challenge_test_list"]])
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(tests)))


KIND = Mbpp()
