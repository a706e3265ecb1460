"""Filters the settings in a checkpoint or a run, because they are untrusted.

A stored configuration may set how a policy is prompted, sampled and trained. Servers, names of environment variables,
tokens sent to servers, and modules to import must come from the user.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from ipaddress import ip_address
from shlex import quote
from typing import Any
from urllib.parse import urlsplit

from cairn.agents.backends.http.config import ModelServerConfig
from cairn.agents.config import SamplingConfig
from cairn.core.config import as_flag, merge
from cairn.core.errors import CairnWarning, ConfigError
from cairn.core.plugins import BACKENDS, DOTTED

Tables = Mapping[str, Any]  # Any: settings
KeyPath = tuple[str, ...]

# Names of settings, in any table, for data destinations and for credentials.
SERVER_SETTINGS = frozenset({"address", "key_env", "network", "token", "token_file", "uri", "url"})
_USUAL = (
    None,
    "",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    "VLLM_API_KEY",
)  # default values, which are always allowed


def sampling_of(stored: Tables, given: Tables, name: str) -> dict[str, Any]:  # Any: settings
    """Return the stored sampling settings with the user's settings merged over them.

    A stored server is not used: unless the user chooses a back end, the policy is sampled locally, with a warning.

    Raises:
        ConfigError: the stored settings name a module.
    """
    servers = [method for method in BACKENDS.ids() if _is_server(method)]
    kept = {key: value for key, value in stored.items() if key not in servers}
    if "method" not in given:
        method = str(stored.get("method", SamplingConfig().method))
        if method in servers:
            kept["method"] = SamplingConfig().method
            warnings.warn(
                f"{name!r} was sampled by a server ({method}), which is not taken from a checkpoint: it is sampled "
                f"here by {kept['method']!r}. To use a server: --agent-set sampling.method={method}, and its url",
                CairnWarning,
                stacklevel=4,
            )
    _refuse(_modules(kept, given), "module", name, "--agent-set sampling.")
    return merge(kept, given)


def agent_of(stored: Tables, given: Tables, name: str) -> dict[str, Any]:  # Any: settings
    """Return the stored agent settings with the user's settings merged over them.

    Raises:
        ConfigError: the stored settings name a module.
    """
    _refuse(_modules(stored, given), "module", name, "--agent-set agent.")
    return merge(stored, given)


def env_of(stored: Tables, given: Tables, name: str) -> dict[str, Any]:  # Any: settings
    """Return the stored environment settings with the user's settings merged over them.

    Raises:
        ConfigError: the stored settings name a module or a server.
    """
    _refuse(_modules(stored, given), "module", name, "--set ")
    _refuse(_servers(stored, given), "server, variable or token", name, "--set ")
    return merge(stored, given)


def named_modules(config: Any) -> list[str]:  # Any: JSON, not yet checked
    """Return a configuration's ``module:Name`` texts of modules that are not installed.

    Each is listed once. All texts and keys are searched, at any depth, since environments and plug-ins have their own
    fields.
    """
    return list(dict.fromkeys(found for _, found in _modules(config, {}) if not _is_installed(found)))


def refuse_modules(configs: Iterable[Any], allowed: Collection[str], run: str) -> None:  # Any: as above
    """Reject modules that stored configurations name and that the user has not allowed by name.

    Raises:
        ConfigError: there is such a module.
    """
    named = dict.fromkeys(name for config in configs for name in named_modules(config))
    if refused := [name for name in named if name not in allowed]:
        flags = " ".join(f"--import {quote(name)}" for name in refused)
        raise ConfigError(
            f"The run in {run!r} names {', '.join(map(repr, refused))}; modules that a stored run names are not "
            f"imported from the current folder. If you trust the code there: cairn train --resume {quote(run)} {flags}"
        )


def refuse_servers(config: Tables, given: Tables, run: str) -> None:
    """Reject stored servers, variables and tokens that the user has not given.

    Raises:
        ConfigError: there is one.
    """
    _refuse(_servers(config, given), "server, variable or token", run, "--set ")


def resume_flags(config: Tables) -> str:
    """Return the options that resume a run of this configuration, with a blank before each."""
    flags = [f" --import {quote(name)}" for name in named_modules(config)]
    return "".join(flags + [f" --set {_setting(path, value)}" for path, value in _servers(config, {})])


def _refuse(found: Iterator[tuple[KeyPath, Any]], what: str, name: str, flag: str) -> None:  # Any: a setting
    if every := list(found):
        named = " and ".join(f"{value!r}" for _, value in every)
        flags = " ".join(f"{flag}{_setting(path, value)}" for path, value in every)
        raise ConfigError(
            f"{name!r} names the {what} {named}, and may come from a stranger: it is not used. If you trust it: {flags}"
        )


def _setting(path: KeyPath, value: Any) -> str:  # Any: a setting
    return as_flag(".".join(path), value)


def _modules(stored: Any, given: Any) -> Iterator[tuple[KeyPath, str]]:  # Any: JSON
    """Yield texts and keys of the form ``module:Name`` that the user's settings do not replace."""
    for path, value in _leaves(stored):
        for at, text in [*((path[:end], path[end]) for end in range(len(path))), (path, value)]:
            if isinstance(text, str) and DOTTED.fullmatch(text) and not _has(given, path):
                yield at, text


def _servers(stored: Any, given: Any) -> Iterator[tuple[KeyPath, Any]]:  # Any: JSON
    """Yield remote values of `SERVER_SETTINGS` that the user's settings do not replace."""
    for path, value in _leaves(stored):
        name = next((part for part in reversed(path) if not part.isdigit()), "")
        if name in SERVER_SETTINGS and value not in _USUAL and not _is_here(value) and not _has(given, path):
            yield path, value


def _leaves(tables: Any) -> Iterator[tuple[KeyPath, Any]]:  # Any: JSON
    """Yield each value except non-empty tables and lists, with its path of keys and indices."""
    stack: list[tuple[KeyPath, Any]] = [((), tables)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, Mapping) and value:
            stack += [((*path, str(key)), each) for key, each in value.items()]
        elif isinstance(value, (list, tuple)) and value:
            stack += [((*path, str(number)), each) for number, each in enumerate(value)]
        else:
            yield path, value


def _has(given: Any, path: KeyPath) -> bool:  # Any: JSON
    """Return whether the user's settings replace the one at `path`.

    They do if they have that path, or a list or text at a part of it.
    """
    for key in path:
        if not isinstance(given, Mapping):
            return True
        if key not in given:
            return False
        given = given[key]
    return True


def _is_here(value: object) -> bool:
    """Return whether an address is on this machine.

    Local files and empty values also count.
    """
    if not isinstance(value, str):
        return not value
    parts = urlsplit(value if "://" in value else f"//{value}")
    if parts.scheme in ("file", "sqlite"):
        return True
    try:
        return parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _is_server(method: str) -> bool:
    return issubclass(BACKENDS.load(method).config, ModelServerConfig)


def _is_installed(name: str) -> bool:
    """Return whether a module's package is outside the current folder."""
    top = name.partition(":")[0].partition(".")[0]
    here = os.getcwd()
    return PathFinder.find_spec(top, [path for path in sys.path if path not in ("", here)]) is not None
