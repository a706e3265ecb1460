"""Checks at configuration time that training has the data its credit method needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from cairn.core.config import Config
from cairn.core.errors import ConfigError
from cairn.core.plugins import CREDITS
from cairn.trainer.credit.base import Credit

PROVIDED = ("length", "logprob")  # optional columns that training fills; channels and parts come from the environment
_MISSING = {  # column: its content, and the reason why training lacks it
    "value": ("state values", "no value source exists in training yet"),
    "final_value": ("state values", "no value source exists in training yet"),
    "role": ("the agent of each turn", "no environment of several agents exists yet"),
    "node": ("a rollout tree", "training samples each episode from its start"),
    "trained": ("a mask of the turns to train on", "training masks none yet"),
    "past": ("episodes of earlier updates", "training keeps none yet"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredEnv:
    """The declarations of an environment that credit methods depend on; see `EnvMeta`."""

    env_id: str
    parts: Collection[str]  # channels that are parts of the reward
    channels: Collection[str]  # names and patterns of the other channels
    has_terminal_reward: bool
    least_score: float  # of an episode


def check_training(
    method: str,
    settings: Mapping[str, Any],  # Any: the method's Config validates them
    env: DeclaredEnv,
    group_size: int,
) -> None:
    """Check that training has the data of a credit method, and that its assumptions hold.

    Args:
        method: a registered credit method.
        settings: fields of its Config.
        env: the training environment.
        group_size: episodes of each task.

    Raises:
        ConfigError: the check failed; the message names the method, the missing data or the false assumption, the
            reason, and other methods.
    """
    credit: Credit[Any] = CREDITS.load(method)
    if missing := _missing(credit, CREDITS.config(method, settings), env):
        can = _trainable(env)
        raise ConfigError(
            f"credit.method: {method!r} needs {missing}; compute it from Python with cairn.advantages(table, "
            f"{method!r}), or train with one of: {', '.join(can)}"
        )
    if group_size == 1 and "lone" not in credit.violates:
        alone = [name for name in _trainable(env) if "lone" in CREDITS.load(name).violates]
        raise ConfigError(
            f"trainer.group_size must be at least 2: credit {method!r} compares the episodes of a task with each other "
            f"and gives a lone one no advantage; methods without that comparison: {', '.join(alone)}"
        )


def _trainable(env: DeclaredEnv) -> list[str]:
    """Return the methods whose needs the environment fulfils with their default settings."""
    loaded: dict[str, Credit[Any]] = {name: CREDITS.load(name) for name in CREDITS.ids()}
    return [name for name, each in loaded.items() if not _missing(each, each.config(), env)]


def _missing(credit: Credit[Any], settings: Config, env: DeclaredEnv) -> str:
    """Return the missing data or the false assumption with its reason, for a message.

    Empty if nothing is missing.
    """
    for column in (*credit.needs, *credit.needs_in_training):
        if column not in ("parts", "channels", *PROVIDED):
            content, reason = _MISSING.get(column, (f"the column {column!r}", "training does not fill it"))
            return f"{content} (column {column}), and {reason}"
    if "parts" in credit.needs and not env.parts:
        return f"parts of the reward, and environment {env.env_id!r} declares none (EnvMeta.parts)"
    for name in credit.parts(settings):
        if name not in env.parts:
            return f"the part of the reward {name!r}, and environment {env.env_id!r} declares {_listed(env.parts)}"
    for name in credit.channels(settings):
        if not any(fnmatchcase(name, pattern) for pattern in (*env.parts, *env.channels)):
            return (
                f"the channel {name!r}, and environment {env.env_id!r} declares {_listed((*env.parts, *env.channels))}"
            )
    if "a terminal reward" in credit.assumes and not env.has_terminal_reward:
        return (
            f"a terminal reward, and environment {env.env_id!r} may give rewards before an episode's end "
            "(EnvMeta.has_terminal_reward)"
        )
    if "scores of 0 or more" in credit.assumes and env.least_score < 0:
        return f"scores of 0 or more, and environment {env.env_id!r} has scores from {env.least_score:g}"
    return ""


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
