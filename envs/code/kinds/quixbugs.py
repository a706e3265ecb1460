"""QuixBugs: repair 40 classic algorithms with a bug in one line each."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from cairn.envs.code.data import rows
from cairn.envs.code.judge import HiddenTests
from cairn.envs.code.problem import Problem

_FILE = "quixbugs/quixbugs_python.jsonl.gz"
_NODE = '''"""A node of the graphs and lists that these programs work on."""


class Node:
    """A value and its neighbours."""

    def __init__(self, value=None, successor=None, successors=None, predecessors=None, incoming_nodes=None,
                 outgoing_nodes=None):
        self.value = value
        self.successor = successor
        self.successors = [] if successors is None else successors
        self.predecessors = [] if predecessors is None else predecessors
        self.incoming_nodes = [] if incoming_nodes is None else incoming_nodes
        self.outgoing_nodes = [] if outgoing_nodes is None else outgoing_nodes
'''
_APPROX = '''
class approx:
    """A number that another equals when it is near enough."""

    def __init__(self, number, rel=1e-6, abs=1e-12):
        self.number, self.most = number, max(rel * __builtins__["abs"](number), abs)

    def __eq__(self, other):
        return -self.most <= other - self.number <= self.most
'''


class QuixBugs:
    """The programs of the original collection, one module each; one split."""

    splits = ("test",)
    has_tests = True

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids: the programs' names."""
        return [row["name"] for row in rows(_FILE)]

    def load(self, task_id: str) -> Problem:
        """Return a task."""
        row = next((row for row in rows(_FILE) if row["name"] == task_id), None)
        if row is None:
            raise KeyError(task_id)
        name = f"{task_id}.py"
        return Problem(
            instruction=f"The program {name} has a bug in one line. Find and repair it.",
            files={name: row["buggy"], "node.py": _NODE},
            given=("node.py",),
            job=HiddenTests(
                style="functions",
                tests="\n\n".join(_tests(row)),
                prelude=_APPROX,
                modules=(task_id, "node"),
                names={task_id: (task_id, task_id)},
            ),
            solution={name: row["correct"]},
        )


def _tests(row: dict[str, Any]) -> Iterator[str]:  # Any: JSON
    """Yield the tests without the code that chooses the program and supplies the cases."""
    for node in ast.parse(row["pytest"].replace("pytest.approx", "approx")).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list and node.name.startswith("test"):
            yield from _cases(node, row["json_tests"])
        elif not _is_scaffold(node):
            yield ast.unparse(node)


def _is_scaffold(node: ast.stmt) -> bool:
    text = ast.unparse(node)
    return any(word in text for word in ("pytest", "load_json_testcases", "python_programs", "testdata"))


def _cases(test: ast.FunctionDef, cases: list[Any]) -> Iterator[str]:  # Any: JSON
    left_out = [ast.literal_eval(case) for node in test.body for case in _skipped(node)]
    body = "\n    ".join(ast.unparse(node) for node in test.body if not isinstance(node, ast.If))
    for number, (given, expected) in enumerate(cases):
        if given not in left_out:
            case = f"{given!r}, {_typed(test.name, expected)!r}"
            yield f"def test_{number}():\n    input_data, expected = {case}\n    {body}"


def _skipped(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the inputs of `if input_data == [...]: pytest.skip(...)`: they take minutes."""
    for inner in ast.walk(node.test) if isinstance(node, ast.If) else ():
        if isinstance(inner, ast.Compare):
            yield inner.comparators[0]


def _typed(test: str, expected: Any) -> Any:  # Any: JSON
    """Return the expected value with hanoi's moves as tuples, which JSON does not have."""
    return [tuple(move) for move in expected] if test == "test_hanoi" else expected


KIND = QuixBugs()
