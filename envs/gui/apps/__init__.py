"""Discovers the web applications.

Every module without a leading underscore exports `APP`, whose name is the module's name and the host name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

from cairn.core.seeding import python_generator
from cairn.envs.gui.site import Site
from cairn.envs.gui.ui_actions import Deed
from cairn.envs.office.generator import populate
from cairn.envs.office.task import Step
from cairn.envs.office.world import DESK, World


@cache
def sites() -> dict[str, Site]:
    """Return all sites by name, sorted."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    found = {name: importlib.import_module(f"{__name__}.{name}").APP for name in names}
    for name, each in found.items():
        assert isinstance(each, Site), f"{name} must export APP, a Site"
        assert each.name == name, f"the site {each.name!r} is in the module {name}"
    return found


def furnished(seed: int) -> World:
    """Return the world of a seed with every application and its initial data.

    The caller may change the world.
    """
    own = tuple(each.data for each in sites().values() if each.data is not None)
    world = populate(seed, (*DESK, *own))
    for each in sites().values():
        each.furnish(world, python_generator("gui app", each.name, seed))
    return world


def deeds(world: World, step: Step) -> Iterator[Deed]:
    """Yield the UI actions that carry out a step on the pages.

    Each action is computed lazily from the world's current state: execute the previous one first.

    Raises:
        LookupError: the step cannot be carried out in that world.
    """
    yield from sites()[step.app].how[step.name](world, step)
