"""Settings of the agent that a checkpoint stores, without those that a stranger could misuse.

A checkpoint may come from anybody. It may set how its policy is shown an episode and sampled. The server, the
environment variable that is sent to it, and the modules to import come from the user's settings alone.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder
from typing import Any

from cairn.agents.backends.http.config import ModelServerConfig
from cairn.agents.config import SamplingConfig
from cairn.core.config import merge
from cairn.core.errors import CairnWarning, ConfigError
from cairn.core.plugins import BACKENDS, DOTTED

Tables = Mapping[str, Any]  # Any: settings


def sampling_of(stored: Tables, given: Tables, name: str) -> dict[str, Any]:  # Any: settings
    """Return the stored settings of sampling with those of the user on top.

    A stored server is not asked: unless the user chooses a back end, the policy is sampled here, with a warning.

    Raises:
        ConfigError: the stored back end is a module.
    """
    servers = [method for method in BACKENDS.ids() if _is_server(method)]
    kept = {key: value for key, value in stored.items() if key not in servers}
    if "method" not in given:
        method = str(stored.get("method", SamplingConfig().method))
        _refuse_module(method, "sampling.method", name)
        if method in servers:
            kept["method"] = SamplingConfig().method
            warnings.warn(
                f"{name!r} was sampled by a server ({method}), which is not taken from a checkpoint: it is sampled "
                f"here by {kept['method']!r}. To use a server: --agent-set sampling.method={method}, and its url",
                CairnWarning,
                stacklevel=4,
            )
    return merge(kept, given)


def agent_of(stored: Tables, given: Tables, name: str) -> dict[str, Any]:  # Any: settings
    """Return the stored settings of the agent with those of the user on top.

    Raises:
        ConfigError: the stored context or format is a module.
    """
    tables = merge(stored, given)
    chosen = given.get("context", {})
    context = stored.get("context", {})
    if "method" not in chosen:
        _refuse_module(str(context.get("method", "")), "agent.context.method", name)
    for method, settings in context.items():
        if isinstance(settings, Mapping) and "format" not in chosen.get(method, {}):
            _refuse_module(str(settings.get("format", "")), f"agent.context.{method}.format", name)
    return tables


def _is_server(method: str) -> bool:
    return issubclass(BACKENDS.load(method)[1], ModelServerConfig)


def _refuse_module(value: str, setting: str, name: str) -> None:
    if DOTTED.fullmatch(value):
        raise ConfigError(
            f"{name!r} names the module {value!r} for {setting}; modules that a checkpoint names are not imported. If "
            f"you trust it: --agent-set {setting}={value}"
        )


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
