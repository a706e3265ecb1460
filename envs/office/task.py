"""Task data types of the office: templates, tasks, and steps of the reference solution.

A task consists of an initial world, an instruction, and the reference steps, which use the records' ids. Executed on a
copy of the world, the steps produce the wanted state. If agents write programs, the oracle is a program too; it uses
the words of the instruction and no ids.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cairn.envs.office.world import World

Answer = int | str | tuple[str, ...]

# Start of every oracle program: fetches all pages of a call, and looks up records by name.
_BEGINNING = """\
def every(call, **arguments):
    items, offset = [], 0
    while offset is not None:
        page = call(**arguments, limit=20, offset=offset)
        items += page["items"]
        offset = page["next_offset"]
    return items


def person(name):
    return next(each for each in every(office.contacts.search, query=name) if each["name"] == name)


def account_id(name):
    return next(each["id"] for each in every(office.payments.list_accounts) if each["name"] == name)


"""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call of the reference solution, with requirements on the free texts it creates."""

    app: str
    name: str
    arguments: Mapping[str, object]
    says: tuple[str, ...] = ()  # words or figures
    says_only: bool = False  # other figures of the same form are not allowed
    among: tuple[str, ...] = ()  # the possible choices: the text may contain only those in `says`


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A template's plan for a world, to which the template has added the task's records."""

    instruction: str
    steps: tuple[Step, ...] = ()
    looks: tuple[Step, ...] = ()  # read-only calls that find the answer, for oracles that are not programs
    answer: Answer | None = None
    program: str = ""  # the oracle's code after its values; "" for tasks on pages, whose oracles are not programs
    values: Mapping[str, object] = field(default_factory=dict)  # variables of the program: words of the instruction


@dataclass(frozen=True, kw_only=True)
class TaskTemplate:
    """A template of tasks."""

    name: str
    level: int  # 1 to 3: difficulty of finding, combining and deciding
    apps: tuple[str, ...]  # applications that a solution needs
    make: Callable[[World, random.Random], Plan]


@dataclass(frozen=True, kw_only=True)
class OfficeTask:
    """One task; equal templates and seeds give equal tasks in every process."""

    template: TaskTemplate
    seed: int
    world: World  # the initial world; play in a copy
    instruction: str
    steps: tuple[Step, ...]
    answer: Answer | None  # the expected answer; None if the task asks for none
    looks: tuple[Step, ...] = ()
    oracle: str = ""  # Python for the agent's side: `office`, `submit`; "" for tasks on pages


def step(
    app: str,
    name: str,
    /,
    *,
    says: tuple[str, ...] = (),
    says_only: bool = False,
    among: tuple[str, ...] = (),
    **arguments: object,
) -> Step:
    """Return a step; its arguments are those of the call."""
    return Step(app=app, name=name, arguments=arguments, says=says, says_only=says_only, among=among)


def source(plan: Plan) -> str:
    """Return the oracle program of a plan: the values, helper functions, and the plan's code."""
    values = "".join(f"{name} = {value!r}\n" for name, value in plan.values.items())
    return f"{values}\n{_BEGINNING}{plan.program.strip()}\n"
