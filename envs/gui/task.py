"""Task templates on web pages: office templates in two tiers.

The reference steps produce the wanted state; `apps.deeds` translates each into UI actions. An answer is a whole number
or a text, which the agent sends to the user; the page after the last of the plan's `looks` shows it. An oracle performs
the looks and the steps, then sends the answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cairn.envs.office import task
from cairn.envs.office.task import Plan
from cairn.envs.office.world import World

Tier = Literal["simple", "workflow"]


@dataclass(frozen=True, kw_only=True)
class Template(task.TaskTemplate):
    """A template of tasks on pages."""

    tier: Tier  # simple: one application; workflow: reads in one and acts in another


def simple(name: str, level: int, app: str, make: Callable[[World, random.Random], Plan]) -> Template:
    """Return a template of one application.

    Level 1: one page; 2: a search or two pages; 3: several things or steps.
    """
    return Template(name=name, level=level, apps=(app,), make=make, tier="simple")


def workflow(
    name: str, level: int, apps: tuple[str, ...], make: Callable[[World, random.Random], Plan]
) -> Template:  # fmt: skip
    """Return a template over several applications."""
    return Template(name=name, level=level, apps=apps, make=make, tier="workflow")
