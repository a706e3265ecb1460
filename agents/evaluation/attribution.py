"""Shapley values of an agent's parts, such as memory, planner, tools and context.

Each part is a switch. The agent plays all tasks of a panel with every subset of the switches on; stored evaluations are
not played again. Values are computed per task and averaged, so that their intervals are over tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from cairn.agents.agent import load_agent
from cairn.agents.evaluation.evaluate import ROOT, evaluate, outcomes
from cairn.agents.evaluation.jobs import Pace
from cairn.agents.evaluation.panel import Panel
from cairn.agents.evaluation.statistics import Interval, interval, shapley
from cairn.core.config import flatten, merge
from cairn.core.errors import ConfigError

_MOST_PARTS = 6  # 64 evaluations


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """The contribution of each part of an agent to its success."""

    none: Interval  # success with all of them off
    all: Interval  # success with all of them on
    parts: Mapping[str, Interval]  # Shapley value of each; their means add up to all - none
    sets: Mapping[str, float]  # success with only these on

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the attribution as JSON-ready tables."""
        return asdict(self)


def attribute(
    agent: str,
    panel: Panel,
    switches: Mapping[str, Mapping[str, Any]],
    *,
    settings: Mapping[str, Any] | None = None,
    temperature: float = 0.4,
    pace: Pace | None = None,
    root: Path = ROOT,
    on_set: Callable[[Sequence[str]], None] = lambda _: None,
) -> Attribution:
    """Return the Shapley value of each switch.

    A switch is a table of settings that is merged over the agent's settings when it is on.

    Raises:
        ConfigError: there are no switches or more than six, two change the same setting, or a setting is wrong.
    """
    if not 1 <= len(switches) <= _MOST_PARTS:
        raise ConfigError(f"Expected 1 to {_MOST_PARTS} parts (each doubles the evaluations), got {len(switches)}")
    _refuse_overlaps(switches)
    names = sorted(switches)
    load_agent(agent, _with(settings, switches, names))  # checks the settings before any evaluation is played
    found: dict[frozenset[str], dict[tuple[int, str], list[float]]] = {}
    for chosen in (subset for size in range(len(names) + 1) for subset in combinations(names, size)):
        on_set(chosen)
        given = _with(settings, switches, chosen)
        played = evaluate(agent, panel=panel, settings=given, temperature=temperature, pace=pace, root=root)
        found[frozenset(chosen)] = outcomes(played.folder, lambda row: float(bool(row.success)))
    return _attribution(names, found)


# -- helpers -----------------------------------------------------------------------------------------------------------


def _with(
    settings: Mapping[str, Any] | None, switches: Mapping[str, Mapping[str, Any]], chosen: Sequence[str]
) -> dict[str, Any]:  # Any: tables
    """Return the agent's settings with these switches on."""
    given = dict(settings or {})
    for name in chosen:
        given = merge(given, switches[name])
    return given


def _refuse_overlaps(switches: Mapping[str, Mapping[str, Any]]) -> None:
    owners: dict[str, str] = {}
    for name, settings in switches.items():
        for key in flatten(settings):
            if (other := owners.setdefault(key, name)) != name:
                raise ConfigError(f"Parts {other!r} and {name!r} both set {key}: their combination is undefined")


def _attribution(
    names: Sequence[str], found: Mapping[frozenset[str], Mapping[tuple[int, str], Sequence[float]]]
) -> Attribution:
    tasks = sorted(set.intersection(*(set(each) for each in found.values())))  # scored with every set
    if not tasks:
        raise ConfigError("No task was scored with every set of parts: too many episodes failed")
    means = {chosen: {task: float(np.mean(each[task])) for task in tasks} for chosen, each in found.items()}
    shares = [shapley({chosen: each[task] for chosen, each in means.items()}) for task in tasks]
    return Attribution(
        none=_over(tasks, [means[frozenset()][task] for task in tasks]),
        all=_over(tasks, [means[frozenset(names)][task] for task in tasks]),
        parts={name: _over(tasks, [share[name] for share in shares], is_share=False) for name in names},
        sets={" + ".join(sorted(chosen)): float(np.mean(list(each.values()))) for chosen, each in means.items()},
    )


def _over(tasks: Sequence[tuple[int, str]], values: Sequence[float], *, is_share: bool = True) -> Interval:
    by_task = {f"{part}/{task}": [value] for (part, task), value in zip(tasks, values, strict=True)}
    return interval(by_task, is_share=is_share)
