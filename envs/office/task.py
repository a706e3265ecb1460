"""What a task of the office is: a world to begin with, an instruction, and the steps of a solution that knows the ids.

The steps are the reference: carried out on a copy of the world they give the state that is wanted. Where agents write
programs, the oracle is a program too; it knows the words of the instruction and no id.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cairn.envs.office.world import World

Answer = int | str | tuple[str, ...]

# What every oracle program begins with: all items of a call that returns pages, and what has a name.
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
    """One call of the reference solution, and what a free text in the records that it makes must contain."""

    app: str
    name: str
    arguments: Mapping[str, object]
    says: tuple[str, ...] = ()  # words or figures
    says_only: bool = False  # no other figures of the same form
    among: tuple[str, ...] = ()  # what was to choose from: none of it is said but `says`


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a template makes of a world, which it has put into the state that the task begins with."""

    instruction: str
    steps: tuple[Step, ...] = ()
    looks: tuple[Step, ...] = ()  # calls that only read: where the answer is found, for oracles that are no programs
    answer: Answer | None = None
    program: str = ""  # the oracle's text after its values; "" where oracles are no programs, as they work on pages
    values: Mapping[str, object] = field(default_factory=dict)  # names that the program uses: words of the instruction


@dataclass(frozen=True, kw_only=True)
class TaskTemplate:
    """A kind of task."""

    name: str
    level: int  # 1 to 3: how much must be found, combined and decided
    apps: tuple[str, ...]  # applications that a solution needs
    make: Callable[[World, random.Random], Plan]


@dataclass(frozen=True, kw_only=True)
class OfficeTask:
    """One task, the same for equal templates and seeds in every process."""

    template: TaskTemplate
    seed: int
    world: World  # as the agent finds it; play in a copy
    instruction: str
    steps: tuple[Step, ...]
    answer: Answer | None  # what must be submitted; None where nothing is asked
    looks: tuple[Step, ...] = ()
    oracle: str = ""  # Python for the agent's side: `office`, `submit`; "" where the steps are done on pages


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
    """Return the oracle program of a plan: the values, a few functions, and what is done with them."""
    values = "".join(f"{name} = {value!r}\n" for name, value in plan.values.items())
    return f"{values}\n{_BEGINNING}{plan.program.strip()}\n"
