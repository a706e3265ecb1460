"""ClassEval: write a class from its skeleton; 74 of 100 tasks, with tests of every method."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from cairn.envs.code.data import rows
from cairn.envs.code.judge import HiddenTests
from cairn.envs.code.problem import Problem

_FILE = "classeval/ClassEval_data.json.gz"
_PACKAGES = "its solution needs packages beyond the standard library"
_FILES = "its tests read and write files of the tested code's process"
_MACHINE = "its tests hold on their author's machine or day alone"
_OBJECTS = "its tests give the code objects and functions that do not cross"
_SECONDS = "one call of its solution takes seconds: as long as a call may"
_CHANCE = "one of its tests draws numbers, and holds for most of them only"
LEFT_OUT = {
    **dict.fromkeys(("28", "30", "34", "38", "44", "45", "51", "52", "57", "59", "69", "93"), _PACKAGES),
    **dict.fromkeys(("14", "26", "50", "60", "83", "84", "92", "99"), _FILES),
    **dict.fromkeys(("17", "48"), _MACHINE),
    **dict.fromkeys(("36", "98"), _OBJECTS),
    "35": _SECONDS,
    "58": _CHANCE,
}


class ClassEval:
    """The tasks of the original file without those in `LEFT_OUT`; one split."""

    splits = ("test",)
    has_tests = True

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids."""
        return [
            row["task_id"].partition("_")[2] for row in rows(_FILE) if row["task_id"].partition("_")[2] not in LEFT_OUT
        ]

    def load(self, task_id: str) -> Problem:
        """Return a task: each method of its test cases is a hidden test."""
        row = next((row for row in rows(_FILE) if row["task_id"] == f"ClassEval_{task_id}"), None)
        if row is None:
            raise KeyError(task_id)
        imports = "\n".join(row["import_statement"])
        solution = f"{imports}\n\n{row['solution_code']}\n"
        classes = [node.name for node in ast.parse(solution).body if isinstance(node, ast.ClassDef)]
        return Problem(
            instruction=f"Complete the class `{row['class_name']}` in solution.py as its docstrings say.",
            files={"solution.py": row["skeleton"]},
            job=HiddenTests(
                style="unittest",
                tests=row["test"],
                prelude=f"{imports}\n",
                modules=("solution",),
                names={name: ("solution", name) for name in classes},
            ),
            solution={"solution.py": solution},
        )


KIND = ClassEval()
