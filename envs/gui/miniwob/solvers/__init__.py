"""Oracles of MiniWoB++'s pages: functions from the view and the goal to the next call.

They follow the conditions in the pages' own scripts. Their only memory is the calls so far, so they act from any state
that can still be won. On a page without a solver, the oracle waits.
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
    """Return the next call on a page; waits if the page has no solver or an element is missing."""
    try:
        return solvers()[page](sight)
    except (LookupError, StopIteration, ValueError):  # no solver, or an unexpected state of the page
        return wait()
