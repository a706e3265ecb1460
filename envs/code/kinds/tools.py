"""Office work by code, judged by the final state.

An API gives access to mail, calendar, files, contacts and payments. Any change that the task does not ask for costs the
whole score. Splits differ in their seeds, so in people, mails and sums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from cairn.envs.code.problem import Problem
from cairn.envs.office.calls import OfficeError
from cairn.envs.office.documentation import documentation
from cairn.envs.office.task import OfficeTask
from cairn.envs.office.tasks import make_task, templates
from cairn.envs.office.validator import judge
from cairn.sandboxes.interpreter import CallRefused

_SEEDS = {"train": range(1000, 2000), "test": range(100)}
_INTRODUCTION = """You write Python that works in an office through `office`. Learn its calls with print(office.docs()),
office.docs("mail") and office.docs("mail", "search"). Calls look like office.mail.search(query="lunch", limit=20) and
raise OfficeError where they are refused. When the work is done call submit(), or submit(answer) where the task asks a
question. Change nothing that the task does not ask you to change.

Task: """
_PRELUDE = '''
class OfficeError(Exception):
    """A call of the office that was refused; the text says why."""


def _ask(_name, **_arguments):
    try:
        return _cairn_call(_name, _arguments)
    except _cairn_error as error:
        raise OfficeError(str(error)) from None


class _App:
    def __init__(self, app):
        self._app = app

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda **arguments: _ask("call", app=self._app, name=name, arguments=arguments)


class _Office:
    def docs(self, app=None, name=None):
        return _ask("docs", app=app, name=name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _App(name)


def submit(answer=None):
    _ask("submit", answer=answer)


office = _Office()
'''


class OfficeWork:
    """The office world of one episode."""

    prelude = _PRELUDE

    def __init__(self, task: OfficeTask) -> None:
        """Copy the task's world."""
        self._task, self._world = task, task.world.copy()
        self._answer: object = None
        self.has_submitted = False

    def call(self, name: str, arguments: Mapping[str, object]) -> object:
        """Carry out a call of the agent's code; see `problem.Work`."""
        if name == "submit" and not self.has_submitted:
            self._answer, self.has_submitted = arguments.get("answer"), True
            return None
        try:
            if name == "docs":
                return documentation(*_texts(arguments, "app", "name", may_be_none=True))
            if name == "call" and not self.has_submitted:
                app, call = _texts(arguments, "app", "name")
                given = arguments.get("arguments")
                return self._world.call(str(app), str(call), given if isinstance(given, dict) else {})
        except OfficeError as refused:
            raise CallRefused(str(refused)) from None
        raise CallRefused("the task was submitted; nothing more can be done")

    def state(self) -> bytes:
        """Return the world's state and the submission."""
        return self._world.state() + json.dumps([self._answer, self.has_submitted], sort_keys=True).encode()

    def judge(self, answer: str | None) -> tuple[float, str]:
        """Compare the world with the wanted one; see `problem.Work`."""
        given = self._answer if self.has_submitted else answer
        verdict = judge(self._task.world, self._world, self._task, given)
        text = "; ".join(verdict.problems) or "All that was asked for was done, and nothing else."
        return (1.0 if verdict.success else min(verdict.score, 0.99)), text


def _texts(arguments: Mapping[str, object], *names: str, may_be_none: bool = False) -> list[str | None]:
    found: list[str | None] = []
    for name in names:
        value = arguments.get(name)
        if not isinstance(value, str) and not (value is None and may_be_none):
            raise OfficeError(f"{name} must be text, got {value!r:.80}")
        found.append(value if isinstance(value, str) else None)
    return found


class Tools:
    """Every template with every seed of a split."""

    splits = tuple(_SEEDS)
    has_tests = False

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids, ordered by seed, so that neighbours come from different templates."""
        return [f"{name}-{seed}" for seed in _SEEDS[split] for name in sorted(templates())]

    def load(self, task_id: str) -> Problem:
        """Return a task."""
        name, _, seed = task_id.rpartition("-")
        if name not in templates() or not seed.isdecimal():
            raise KeyError(task_id)
        task = make_task(name, int(seed))
        return Problem(
            instruction=_INTRODUCTION + task.instruction,
            files={},
            work=lambda: OfficeWork(task),
            program=task.oracle,
        )


KIND = Tools()
