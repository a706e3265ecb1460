"""HumanEval: complete a function from its signature and docstring; 164 tasks."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from cairn.envs.code.data import rows
from cairn.envs.code.judge import HiddenTests
from cairn.envs.code.problem import Problem

_FILE = "humaneval/HumanEval.jsonl.gz"


class HumanEval:
    """The tasks of the original file; one split."""

    splits = ("test",)
    has_tests = True

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids."""
        return [row["task_id"].partition("/")[2] for row in rows(_FILE)]

    def load(self, task_id: str) -> Problem:
        """Return a task: each assertion of its check is a hidden test."""
        row = next((row for row in rows(_FILE) if row["task_id"] == f"HumanEval/{task_id}"), None)
        if row is None:
            raise KeyError(task_id)
        name = row["entry_point"]
        return Problem(
            instruction=f"Complete the function `{name}` in solution.py as its docstring says.",
            files={"solution.py": row["prompt"]},
            job=HiddenTests(
                style="asserts",
                tests=_statements(row["test"]),
                prelude=row["prompt"] + "\n    pass\n",  # some checks use other functions of the prompt
                modules=("solution",),
                names={"candidate": ("solution", name), name: ("solution", name)},
            ),
            solution={"solution.py": row["prompt"] + row["canonical_solution"]},
        )


def _statements(test: str) -> str:
    """Return the statements outside `check`, then those of its body."""
    body = ast.parse(test).body
    (check,) = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check")
    return "\n".join(ast.unparse(node) for node in [*(n for n in body if n is not check), *check.body])


KIND = HumanEval()
