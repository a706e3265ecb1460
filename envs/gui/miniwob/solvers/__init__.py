"""Oracles of MiniWoB++'s pages: for each, what to do next from what is seen and asked; every module has some.

They are written from what the pages' own scripts ask for, keep nothing in mind but the calls so far, and so go on from
any state that can still be won. A page without one is waited on.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.miniwob.sight import Sight, Solvers, wait


@cache
def solvers() -> Solvers:
    """Return all solvers by page."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        found.update(importlib.import_module(f"{__name__}.{module.name}").SOLVERS)
    return found


def solve(page: str, sight: Sight) -> GuiCall:
    """Return what to do next on a page; to wait, where nobody knows or what is needed is not there."""
    try:
        return solvers()[page](sight)
    except (LookupError, StopIteration, ValueError):  # no solver, or the page is not as it should be at this point
        return wait()
