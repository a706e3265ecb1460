"""The history of a run's settings, and the changes that prevent a run from continuing.

The run's store keeps one entry per change: ``{"update": n, "config": {...}}`` applies from the update after n.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from typing import Any

from cairn.core.config import build, flatten
from cairn.core.errors import CairnError, ConfigError
from cairn.envs.base import EnvMeta
from cairn.envs.registry import list_tasks
from cairn.trainer.config import RunConfig

Entry = Mapping[str, Any]  # Any: JSON
_DECIDED_AT_THE_START = (
    "env.id",
    "eval.holdout",
    "eval.holdout_seed",
    "imitation.",
    "model.",
)
_MOST_LISTED = 8


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:  # Any: settings
    """Return the differing settings, by dotted name, with both values; None if missing."""
    old, new = flatten(before), flatten(after)
    return {key: (old.get(key), new.get(key)) for key in sorted({*old, *new}) if old.get(key) != new.get(key)}


def described(found: Mapping[str, tuple[Any, Any]]) -> str:  # Any: settings
    """Return the first few changed settings as text."""
    listed = [f"{key} {_short(old)} -> {_short(new)}" for key, (old, new) in found.items()]
    more = len(listed) - _MOST_LISTED
    return ", ".join(listed[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def refuse_another_run(meta: Mapping[str, Any], config: RunConfig, folder: str) -> None:  # Any: see RunStore.meta
    """Check that a folder does not hold a run with other settings.

    Raises:
        ConfigError: it holds one.
    """
    stored = _normalised(meta.get("config"))
    if stored is not None and (found := changes(stored, _tables(config))):
        raise ConfigError(
            f"{folder!r} holds a run with other settings: {described(found)}. To continue that run with changed "
            f"settings: cairn train --resume {quote(folder)} --set KEY=VALUE. To start a new one, name another --folder"
        )


def refuse_late_changes(meta: Mapping[str, Any], config: RunConfig, folder: str) -> None:  # Any: as above
    """Check that the settings that only apply at the start of a run are unchanged.

    Raises:
        ConfigError: one of them changed.
    """
    stored = _normalised(meta.get("config"))
    found = {} if stored is None else changes(stored, _tables(config))
    if late := {key: value for key, value in found.items() if key.startswith(_DECIDED_AT_THE_START)}:
        raise ConfigError(
            f"The run in {folder!r} cannot continue with {described(late)}: this was decided when it started. Leave it "
            "as it was, or start a new run"
        )


def refuse_other_env(meta: Mapping[str, Any], version: int, folder: str, env_id: str) -> None:  # Any: as above
    """Check that the environment's version is the one with which the run began.

    Raises:
        CairnError: the version differs.
    """
    before = meta.get("declared", {}).get("version")
    if before is not None and before != version:
        raise CairnError(
            f"The run in {folder!r} has played version {before} of {env_id}; this is version {version}, whose "
            "observations, rules or rewards differ. Start a new run, or accept the change with "
            f"cairn train --resume {quote(folder)} --accept-env-version"
        )


def declarations(env: EnvMeta) -> dict[str, Any]:  # Any: JSON
    """Return the environment's declarations for the store, so that readers need not load it."""
    return {
        "version": env.version,
        "is_deterministic": env.is_deterministic,
        "parts": list(env.parts),
        "channels": list(env.channels),
    }


def history_of(meta: Mapping[str, Any]) -> list[Entry]:  # Any: see RunStore.meta
    """Return the stored history.

    A run of an earlier version without a history has one entry, its current settings.
    """
    stored = meta.get("config")
    entries: list[Entry] = meta.get("configs") or ([] if stored is None else [{"update": 0, "config": stored}])
    for entry in entries:
        is_table = isinstance(entry, dict) and isinstance(entry.get("config"), dict)
        if not is_table or type(entry.get("update")) is not int:
            raise CairnError(f"A run's stored settings cannot be read: expected update and config, got {entry!r:.100}")
    return entries


def extended(entries: Sequence[Entry], config: RunConfig, update: int) -> list[Entry]:
    """Return the history of a run that resumes after `update`, without later entries."""
    tables, past = _tables(config), [entry for entry in entries if entry["update"] < update]
    if past and not changes(past[-1]["config"], tables):
        return past
    return [*past, {"update": update, "config": tables}]


def trained_settings(entries: Sequence[Entry]) -> list[Mapping[str, Any]]:  # Any: an environment's settings
    """Return the distinct environment settings of training and imitation in this history."""
    found: dict[str, Mapping[str, Any]] = {}  # Any: as above
    try:
        for entry in entries:
            own, imitation = entry["config"]["env"]["config"], entry["config"]["imitation"]
            for settings in (own, {**own, **imitation["config"]} if imitation["episodes"] else own):
                found[json.dumps(settings, sort_keys=True)] = settings
    except (KeyError, TypeError) as error:
        raise CairnError(f"A run's stored settings cannot be read: {error!r} in one of its environments") from error
    return list(found.values())


def trained_tasks(env_id: str, entries: Sequence[Entry], held_out: Collection[str]) -> set[str]:
    """Return the tasks that a run with this history may have trained on or imitated."""
    listed = {task for settings in trained_settings(entries) for task in list_tasks(env_id, settings)}
    return listed - set(held_out)


def _tables(config: RunConfig) -> dict[str, Any]:  # Any: JSON
    tables: dict[str, Any] = json.loads(config.model_dump_json())
    return tables


def _normalised(stored: Mapping[str, Any] | None) -> dict[str, Any] | None:  # Any: JSON
    """Return a stored configuration, completed with settings that its version of Cairn lacked."""
    return None if stored is None else _tables(build(RunConfig, stored, "the run's stored configuration"))


def _short(value: Any) -> str:  # Any: a setting
    return json.dumps(value, default=str)[:60]
