"""Coding tasks: the records and protocols that all kinds share."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cairn.envs.code.judge import HiddenTests

_LEVELS = (2, 5, 12)  # maximum of added lines at each level but the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One coding task."""

    instruction: str  # for the agent
    files: Mapping[str, str]  # the initial work folder
    given: tuple[str, ...] = ()  # those of `files` that are restored before a submission is judged
    visible: str | None = None  # the file of `files` with tests that the agent may run
    job: HiddenTests | None = None  # the hidden tests; None: the answer or the world is judged
    answer: str | None = None  # a literal with the value that `submit` must give; None: no question
    solution: Mapping[str, str] = field(default_factory=dict)  # files that solve the task
    work: Callable[[], Work] | None = None  # makes a world that the agent's code acts on; None: no world
    program: str | None = None  # a program that solves the task, if it has a world


class Work(Protocol):
    """A world outside the sandbox that the agent's code acts on by calls, in one episode."""

    prelude: str  # source that the interpreter runs first: it offers the calls as functions
    has_submitted: bool  # a call of the code has ended the episode

    def call(self, name: str, arguments: Mapping[str, object]) -> object:
        """Carry out a call and return JSON.

        Raises:
            CallRefused: the call cannot be carried out; the code receives the text.
        """

    def state(self) -> bytes:
        """Return the whole state in a canonical form."""

    def judge(self, answer: str | None) -> tuple[float, str]:
        """Return the score (1: success) and a text for the agent.

        `answer`: the argument of the tool `submit`, if that tool ended the episode.
        """


class ProblemKind(Protocol):
    """A family of tasks: `KIND` of a module in `envs/code/kinds`."""

    splits: tuple[str, ...]
    has_tests: bool  # hidden tests judge its tasks; else the answer or the final world does

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids of a split's tasks, in a fixed order.

        Raises:
            MissingDataError: the kind's files do not exist.
        """

    def load(self, task_id: str) -> Problem:
        """Return a task.

        Raises:
            KeyError: no task has this id.
        """


def level(problem: Problem) -> str:
    """Return a level from 1 to 4 by the lines that the reference adds; empty if it has none.

    A line that is not blank counts as added if the solution has it more often than the initial files. For a repair,
    these are the changed lines.
    """
    if not problem.solution:
        return ""
    added = _lines(problem.solution) - _lines(problem.files)
    return str(1 + bisect_left(_LEVELS, added.total()))


def _lines(files: Mapping[str, str]) -> Counter[str]:
    return Counter(line for text in files.values() for line in text.splitlines() if line.strip())
