"""Settings that a checkpoint stores about its agent, without those that a stranger could misuse.

A checkpoint may come from anybody. It may say how its policy is shown an episode and sampled, but not which server is
asked, which environment variable is sent there, or which module is imported: these come from the user's settings alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from cairn.agents.config import SamplingConfig
from cairn.agents.serving.config import ServerConfig
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
    return issubclass(BACKENDS.load(method)[1], ServerConfig)


def _refuse_module(value: str, setting: str, name: str) -> None:
    if DOTTED.fullmatch(value):
        raise ConfigError(
            f"{name!r} names the module {value!r} for {setting}; modules that a checkpoint names are not imported. If "
            f"you trust it: --agent-set {setting}={value}"
        )
