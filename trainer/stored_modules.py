"""Modules that a stored configuration names: a run may come from a stranger, so none is imported that was not allowed.

Modules of installed packages, and those on the user's own PYTHONPATH, may be imported; a file in the current folder,
which may be the stranger's, needs the user's word.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder
from typing import Any

from cairn.core.errors import ConfigError
from cairn.core.plugins import DOTTED

_NAMES = (
    ("env", "id"),
    ("sampling", "method"),
    ("agent", "context", "method"),
    ("credit", "method"),
    ("loss", "method"),
)


def named_modules(config: Mapping[str, Any]) -> list[str]:  # Any: a stored configuration, not yet checked
    """Return the ``module:Name`` values of a configuration's plug-ins that no installed package has, each once."""
    found = [name for name in _names(config) if DOTTED.fullmatch(name) and not _is_installed(name)]
    return list(dict.fromkeys(found))


def refuse_modules(config: Mapping[str, Any], allowed: Collection[str], run: str) -> None:  # Any: as above
    """Refuse modules that a stored configuration names and that the user has not allowed by name.

    Raises:
        ConfigError: there is one.
    """
    if refused := [name for name in named_modules(config) if name not in allowed]:
        flags = " ".join(f"--import {name}" for name in refused)
        raise ConfigError(
            f"The run in {run!r} names {', '.join(map(repr, refused))}; modules that a stored run names are not "
            f"imported from the current folder. If you trust the code there: cairn train --resume {run} {flags}"
        )


def _names(config: Mapping[str, Any]) -> Iterator[str]:  # Any: as above
    for keys in _NAMES:
        yield from _text_at(config, keys)
    context = config.get("agent", {}).get("context", {}) if isinstance(config.get("agent"), Mapping) else {}
    for settings in context.values() if isinstance(context, Mapping) else ():
        if isinstance(settings, Mapping):
            yield from _text_at(settings, ("format",))
    trackers = config.get("trackers")
    yield from trackers if isinstance(trackers, Mapping) else ()


def _text_at(tables: Any, keys: tuple[str, ...]) -> Iterator[str]:  # Any: whatever JSON can hold
    for key in keys:
        tables = tables.get(key) if isinstance(tables, Mapping) else None
    if isinstance(tables, str):
        yield tables


def _is_installed(name: str) -> bool:
    """Return whether a module's package is found elsewhere than in the current folder."""
    top = name.partition(":")[0].partition(".")[0]
    here = os.getcwd()
    return PathFinder.find_spec(top, [path for path in sys.path if path not in ("", here)]) is not None
