"""Metrics of runs as lines.

Runs that differ only in the seed form one line with a 95 % interval.

The interval is Student's t over runs, as in `cairn compare`. A single run has its own interval, if it measured one:
Wilson's, of an evaluation's episodes. The two differ in meaning, and charts name the one used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cairn.agents.evaluation.statistics import student
from cairn.core.config import flatten
from cairn.core.store import RunStore
from cairn.viewer.catalog import RunPlace, dig
from cairn.viewer.charts import COLOURS, CurveLine, Point

_NO_SETTINGS = ("seed", "name")  # keys in which runs of one curve may differ, or that are not a setting


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run with its open store."""

    place: RunPlace
    store: RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveVariant:
    """Runs that differ only in the seed."""

    label: str  # distinguishes it from the others
    runs: tuple[OpenRun, ...]
    colour: int


def variants(runs: Sequence[OpenRun]) -> tuple[CurveVariant, ...]:
    """Return the runs grouped by their settings without the seed, in the given order."""
    settings: dict[str, dict[str, Any]] = {}  # Any: settings have any type
    members: dict[str, list[OpenRun]] = {}
    for number, run in enumerate(runs):
        config = run.store.meta().get("config")
        flat = flatten(config) if config else {"": number}  # unknown settings equal no others
        same = {name: value for name, value in flat.items() if name != "seed"}
        key = json.dumps(same, sort_keys=True)
        settings[key] = same
        members.setdefault(key, []).append(run)
    labels = _labels(list(settings.values()), list(members.values()))
    return tuple(
        CurveVariant(label=label, runs=tuple(found), colour=i % COLOURS)
        for i, (label, found) in enumerate(zip(labels, members.values(), strict=True))
    )


def metric_line(
    variant: CurveVariant, name: str, scale: float = 1.0, *, suffix: str = "", is_quiet: bool = False
) -> CurveLine:
    """Return one metric of these runs.

    For several, their mean at each update that any of them has.
    """
    series = [run.store.series(name) for run in variant.runs]
    if len(series) == 1:
        points = _alone(variant.runs[0].store, name, series[0], scale)
    else:
        points = _together(series, scale)
    return CurveLine(label=variant.label + suffix, points=points, is_quiet=is_quiet, colour=variant.colour)


def _alone(store: RunStore, name: str, series: Sequence[tuple[int, float]], scale: float) -> tuple[Point, ...]:
    low, high = (dict(store.series(f"eval/{end}")) if name == "eval/success" else {} for end in ("low", "high"))
    return tuple(
        Point(
            x=step,
            y=scale * value,
            low=scale * low[step] if step in low and step in high else None,
            high=scale * high[step] if step in low and step in high else None,
        )
        for step, value in series
    )


def _together(series: Sequence[Sequence[tuple[int, float]]], scale: float) -> tuple[Point, ...]:
    by_step: dict[int, list[float]] = {}
    for each in series:
        for step, value in each:
            by_step.setdefault(step, []).append(scale * value)
    return tuple(mean_point(step, values) for step, values in sorted(by_step.items()))


def mean_point(x: float, values: Sequence[float]) -> Point:
    """Return the mean with Student's 95 % interval, which a single value lacks.

    See `agents.evaluation.statistics.student`.
    """
    n, mean = len(values), sum(values) / len(values)
    if n < 2:
        return Point(x=x, y=mean, n=n)
    low, high = student(values)
    return Point(x=x, y=mean, low=low, high=high, n=n)


def _labels(settings: Sequence[Mapping[str, Any]], members: Sequence[Sequence[OpenRun]]) -> list[str]:  # Any: as above
    """Return a label for each variant: its run's name, or the settings that distinguish it."""
    keys = sorted(set().union(*settings))
    texts = {key: [json.dumps(each.get(key), default=str) for each in settings] for key in keys}
    differing = [key for key in keys if key not in _NO_SETTINGS and len(set(texts[key])) > 1]
    labels = []
    for i, found in enumerate(members):
        if len(found) == 1:
            labels.append(found[0].place.name)
            continue
        parts = [f"{key.removesuffix('.method')}={texts[key][i].strip(chr(34))}" for key in differing[:2]]
        base = str(settings[i].get("name") or found[0].place.name)
        labels.append(f"{', '.join(parts) or base} ({_number(found)})")
    return labels


def _number(found: Sequence[OpenRun]) -> str:
    """Return the number of runs and seeds; a seed may have been run or copied several times."""
    seeds = {json.dumps(dig(run.store.meta().get("config"), "seed")) for run in found}
    if len(seeds) == len(found):
        return f"{len(seeds)} seeds"
    return f"{len(found)} runs of {len(seeds)} {'seed' if len(seeds) == 1 else 'seeds'}"
