"""Checks, when a run's configuration is loaded, that training has all that its credit method needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

from cairn.core.config import Config, build
from cairn.core.errors import ConfigError
from cairn.core.plugins import CREDITS
from cairn.trainer.credit.base import Credit

PROVIDED = ("length", "logprob")  # optional columns that training fills; channels and parts are the environment's
_MISSING = {  # column: its content, and the reason why training has none
    "value": ("state values", "no value source exists in training yet"),
    "final_value": ("state values", "no value source exists in training yet"),
    "role": ("the agent of each turn", "no environment of several agents exists yet"),
    "node": ("a rollout tree", "training samples each episode from its start"),
    "trained": ("a mask of the turns to train on", "training masks none yet"),
    "past": ("episodes of earlier updates", "training keeps none yet"),
}


def check_training(
    method: str,
    settings: Mapping[str, Any],  # Any: the method's Config checks them
    *,
    env_id: str,
    parts: Collection[str],
    channels: Collection[str],
    group_size: int,
) -> None:
    """Check that training provides all the data that a credit method needs.

    Args:
        method: a registered credit method.
        settings: fields of its Config.
        env_id: the environment, for messages.
        parts: channels that the environment declares as parts of the reward.
        channels: names and patterns of the other channels that it declares.
        group_size: episodes of each task.

    Raises:
        ConfigError: naming the method, the missing data, the reason and other methods.
    """
    credit: Credit[Any] = CREDITS.load(method)
    if missing := _missing(credit, build(credit.config, settings, f"credit {method!r}"), env_id, parts, channels):
        can = _trainable(env_id, parts, channels)
        raise ConfigError(
            f"credit.method: {method!r} needs {missing}; compute it from Python with cairn.advantages(table, "
            f"{method!r}), or train with one of: {', '.join(can)}"
        )
    if group_size == 1 and "lone" not in credit.violates:
        alone = [name for name in _trainable(env_id, parts, channels) if "lone" in CREDITS.load(name).violates]
        raise ConfigError(
            f"trainer.group_size must be at least 2: credit {method!r} compares the episodes of a task with each other "
            f"and gives a lone one no advantage; methods without that comparison: {', '.join(alone)}"
        )


def _trainable(env_id: str, parts: Collection[str], channels: Collection[str]) -> list[str]:
    """Return the methods that lack nothing with their default settings."""
    loaded: dict[str, Credit[Any]] = {name: CREDITS.load(name) for name in CREDITS.ids()}
    return [name for name, each in loaded.items() if not _missing(each, each.config(), env_id, parts, channels)]


def _missing(
    credit: Credit[Any], settings: Config, env_id: str, parts: Collection[str], channels: Collection[str]
) -> str:
    """Return the missing data with the reason, for a message; empty if nothing is missing."""
    for column in (*credit.needs, *credit.needs_in_training):
        if column not in ("parts", "channels", *PROVIDED):
            content, reason = _MISSING.get(column, (f"the column {column!r}", "training does not fill it"))
            return f"{content} (column {column}), and {reason}"
    if "parts" in credit.needs and not parts:
        return f"parts of the reward, and environment {env_id!r} declares none (EnvMeta.parts)"
    for name in credit.parts(settings):
        if name not in parts:
            return f"the part of the reward {name!r}, and environment {env_id!r} declares {_listed(parts)}"
    for name in credit.channels(settings):
        if not any(fnmatchcase(name, pattern) for pattern in (*parts, *channels)):
            return f"the channel {name!r}, and environment {env_id!r} declares {_listed((*parts, *channels))}"
    return ""


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
