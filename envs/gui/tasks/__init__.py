"""Discovers task templates: every module without a leading underscore exports `TEMPLATES`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from cairn.core.errors import UnknownNameError
from cairn.core.seeding import python_generator
from cairn.envs.gui.apps import furnished
from cairn.envs.gui.task import Template
from cairn.envs.office.task import OfficeTask

VERSION = 1  # increases with every change of a task


@cache
def templates() -> dict[str, Template]:
    """Return all templates by name, sorted."""
    found: dict[str, Template] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            for template in importlib.import_module(f"{__name__}.{module.name}").TEMPLATES:
                assert template.name not in found, f"two templates are called {template.name!r}"
                found[template.name] = template
    return dict(sorted(found.items()))


def make_task(template: str, seed: int) -> OfficeTask:
    """Return a task; equal arguments give equal tasks in any process.

    Raises:
        UnknownNameError: unknown template.
    """
    if template not in templates():
        raise UnknownNameError("task on pages", template, templates(), "cairn envs list gui --tasks")
    chosen = templates()[template]
    world = furnished(seed)
    plan = chosen.make(world, python_generator("gui task", VERSION, template, seed))
    return OfficeTask(
        template=chosen,
        seed=seed,
        world=world,
        instruction=plan.instruction,
        steps=plan.steps,
        looks=plan.looks,
        answer=plan.answer,
    )
