"""MBPP+ (EvalPlus): MBPP with more inputs, judged by the reference's results; 378 tasks."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from cairn.envs.code.data import rows
from cairn.envs.code.judge import HiddenTests
from cairn.envs.code.problem import Problem

_FILE = "mbpp/MbppPlus.jsonl.gz"
_MOST_INPUTS = 100
_MOST_CHARS = 20_000  # of one input; a few are megabytes that measure speed
_TOO_MUCH = {  # inputs whose results have at least 20,000 parts: a second or a gigabyte each
    "Mbpp/255": (88, 89, 93, 99),
    "Mbpp/630": (20, 22, 76, 78, 83, 86, 88),
}
_NO_LITERAL = re.compile(r"\b(inf|nan)\b")
_SAME = '''
import re


def is_same(given, expected):
    """Numbers differ by at most `atol`, or a millionth where they are not whole; sequences are compared part by part.

    A match, or none, stands for yes and no.
    """
    if isinstance(expected, re.Match) or expected is None:
        return bool(given) == bool(expected)
    if isinstance(expected, float) or isinstance(given, float):
        if not isinstance(given, (int, float)) or not isinstance(expected, (int, float)):
            return False
        return given == expected or given != given and expected != expected or abs(given - expected) <= max(
            atol, 1e-6 * max(1.0, abs(expected))
        )
    if isinstance(expected, (list, tuple)) and isinstance(given, (list, tuple)):
        return len(given) == len(expected) and all(map(is_same, given, expected))
    return given == expected
'''


class MbppPlus:
    """The tasks of EvalPlus' file without long or slow inputs and non-literals; one split."""

    splits = ("test",)
    has_tests = True

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids."""
        return [row["task_id"].partition("/")[2] for row in rows(_FILE)]

    def load(self, task_id: str) -> Problem:
        """Return a task: each input is a hidden test."""
        row = next((row for row in rows(_FILE) if row["task_id"] == f"Mbpp/{task_id}"), None)
        if row is None:
            raise KeyError(task_id)
        name = row["entry_point"]
        return Problem(
            instruction=f"{ast.literal_eval(row['prompt'].strip()).strip()}\nWrite `{name}` to solution.py.",
            files={},
            job=HiddenTests(
                style="reference",
                inputs=tuple(_inputs(row)),
                prelude=f"{row['canonical_solution']}\nreference = {name}\natol = {float(row['atol'])!r}\n{_SAME}",
                modules=("solution",),
                names={"candidate": ("solution", name)},
            ),
            solution={"solution.py": row["canonical_solution"]},
        )


def _inputs(row: dict[str, Any]) -> list[str]:  # Any: JSON
    """Return argument lists as literals, with tuples where the contract requires them."""
    tuples = _tuple_arguments(row)
    texts = []
    for arguments in [*row["base_input"], *row["plus_input"]]:
        typed = [_tupled(a) if i in tuples else _complex(a, row) for i, a in enumerate(arguments)]
        texts.append(repr(typed))
    chosen = [text for text in texts if len(text) <= _MOST_CHARS and not _NO_LITERAL.search(text)][:_MOST_INPUTS]
    too_much = _TOO_MUCH.get(row["task_id"], ())
    return [text for number, text in enumerate(chosen) if number not in too_much]


def _tuple_arguments(row: dict[str, Any]) -> set[int]:  # Any: JSON
    """Return the indices of arguments that the contract checks by isinstance(NAME, tuple)."""
    functions = [n for n in ast.parse(row["canonical_solution"]).body if isinstance(n, ast.FunctionDef)]
    names = next(([a.arg for a in f.args.args] for f in functions if f.name == row["entry_point"]), [])
    return {i for i, name in enumerate(names) if f"isinstance({name}, tuple)" in row["contract"]}


def _tupled(value: Any) -> Any:  # Any: JSON
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def _complex(value: Any, row: dict[str, Any]) -> Any:  # Any: JSON, which has no complex numbers
    return complex(value) if isinstance(value, str) and "complex" in row["contract"] else value


KIND = MbppPlus()
