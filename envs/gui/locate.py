"""Finds one of many rows like a user: by the pages' own searches, links and names.

The contents of lists are read from the applications directly, so that the search leaves no trace in the world's log.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from cairn.envs.gui.parts import PER_PAGE, distinct
from cairn.envs.gui.ui_actions import Deed, click
from cairn.envs.office.world import World

Json = Any  # Any: results of calls; the calls' documentation shows them
NameOf = Callable[[Json], str]


def everything(world: World, app: str, name: str, **arguments: object) -> list[Json]:
    """Return all items of a call that returns pages; arguments that are None are omitted."""
    given = {key: value for key, value in arguments.items() if value is not None}
    items: list[Json] = []
    offset: int | None = 0
    while offset is not None:
        found: Json = world.apps[app].perform(name, {**given, "offset": offset})
        items += found["items"]
        offset = found["next_offset"]
    return items


def turn_to(items: list[Json], is_it: Callable[[Json], bool], name_of: NameOf) -> Generator[Deed, None, str]:
    """Turn a table's pages to the one with an item; returns the item's name on that page."""
    at = next(at for at, item in enumerate(items) if is_it(item))
    for _ in range(at // PER_PAGE):
        yield click("link", "Next page")
    first = at - at % PER_PAGE
    return distinct([name_of(item) for item in items[first : first + PER_PAGE]])[at - first]
