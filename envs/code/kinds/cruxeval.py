"""CRUXEval: predict a function's output for an input, without hidden tests; 800 tasks."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.envs.code.data import rows
from cairn.envs.code.problem import Problem

_FILE = "cruxeval/cruxeval.jsonl"


class CruxEval:
    """The output-prediction tasks of the original file; one split.

    The instruction contains the function; the work folder is empty.
    """

    splits = ("test",)
    has_tests = False

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids."""
        return [row["id"].partition("_")[2] for row in rows(_FILE)]

    def load(self, task_id: str) -> Problem:
        """Return a task."""
        row = next((row for row in rows(_FILE) if row["id"] == f"sample_{task_id}"), None)
        if row is None:
            raise KeyError(task_id)
        return Problem(
            instruction=f"What does f({row['input']}) return? Submit the value as a Python literal.\n\n{row['code']}",
            files={},
            answer=row["output"],
        )


KIND = CruxEval()
