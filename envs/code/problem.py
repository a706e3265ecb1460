"""What a coding task is, whatever kind it is of."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cairn.envs.code.judge import HiddenTests

_LEVELS = (2, 5, 12)  # the most lines that are added at each level but the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One coding task."""

    instruction: str  # what the agent is told
    files: Mapping[str, str]  # the work tree as it begins
    given: tuple[str, ...] = ()  # files of it that are put back before a submission is judged
    visible: str | None = None  # the file of `files` with tests that the agent may run
    job: HiddenTests | None = None  # the hidden tests; None: the answer is judged, or a world
    answer: str | None = None  # a literal that `submit` must give the value of; None: nothing is asked
    solution: Mapping[str, str] = field(default_factory=dict)  # files that solve it
    work: Callable[[], Work] | None = None  # makes a world that the agent's code acts on; None: there is none
    program: str | None = None  # a program that solves it, where there is a world


class Work(Protocol):
    """A world outside of the sandbox that the agent's code acts on by calls, in one episode."""

    prelude: str  # source that comes first in the interpreter: it makes calls look like functions
    has_submitted: bool  # the code has ended the episode by a call

    def call(self, name: str, arguments: Mapping[str, object]) -> object:
        """Do something and return JSON.

        Raises:
            CallRefused: it cannot be done; the text is for the code.
        """

    def state(self) -> bytes:
        """Return all of it in a canonical form."""

    def judge(self, answer: str | None) -> tuple[float, str]:
        """Return the score, 1 for success, and what is told; `answer`: of the tool `submit`, if that ended it."""


class ProblemKind(Protocol):
    """A family of tasks: `KIND` of a module in `envs/code/kinds`."""

    splits: tuple[str, ...]
    has_tests: bool  # its tasks are judged by hidden tests; else by an answer, or by the world that is left

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids of a split's tasks, in a fixed order.

        Raises:
            MissingDataError: its files are not there.
        """

    def load(self, task_id: str) -> Problem:
        """Return a task.

        Raises:
            KeyError: there is none of this id.
        """


def level(problem: Problem) -> str:
    """Return how much the reference solution adds to the files that are given, from 1 to 4; empty where it has none.

    Counted are lines with something on them that the files do not have as often: of a repair, those that it changes.
    """
    if not problem.solution:
        return ""
    added = _lines(problem.solution) - _lines(problem.files)
    return str(1 + bisect_left(_LEVELS, added.total()))


def _lines(files: Mapping[str, str]) -> Counter[str]:
    return Counter(line for text in files.values() for line in text.splitlines() if line.strip())
