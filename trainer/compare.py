"""The same run with one setting varied, over several seeds: final success of each variant, and paired differences.

Seeds pair the runs: variants of one seed share warm start, tasks and evaluation. Intervals are Student's t over seeds
(seeds are the unit; episodes within a run are not independent of its training).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scipy import stats

from cairn.core.config import flatten, parse_flags
from cairn.trainer.config import load_run_config
from cairn.trainer.listener import Listener
from cairn.trainer.train import Run, train


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One value of the varied setting."""

    value: str
    starts: tuple[float, ...]  # held-out success before the first update, one a seed
    ends: tuple[float, ...]  # after the last
    mean: float  # of `ends`
    half_width: float  # of the 95 % interval of the mean over seeds; NaN for one seed
    difference: float  # mean of (this - the first variant), paired by seed
    difference_half_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return asdict(self)


def compare(
    config: str | Path | Mapping[str, Any],
    key: str,
    values: Sequence[str],
    seeds: int,
    folder: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
) -> list[Variant]:
    """Train every variant with seeds 0, 1, ... under `folder`; finished runs there are not repeated."""
    runs: dict[str, list[Run]] = {value: [] for value in values}
    for seed in range(seeds):
        for value in values:
            flags = flatten(parse_flags([f"{key}={value}"]))
            settings = load_run_config(config, {**(overrides or {}), "seed": seed, **flags})
            runs[value].append(train(settings, folder=folder / f"{value}-seed{seed}", listener=listener))
    first = [run.final.success.share for run in runs[values[0]]]
    return [_variant(value, runs[value], first) for value in values]


def _variant(value: str, runs: Sequence[Run], first: Sequence[float]) -> Variant:
    ends = [run.final.success.share for run in runs]
    differences = [end - other for end, other in zip(ends, first, strict=True)]
    return Variant(
        value=value,
        starts=tuple(run.reports[min(run.reports)].success.share for run in runs),
        ends=tuple(ends),
        mean=sum(ends) / len(ends),
        half_width=half_width(ends),
        difference=sum(differences) / len(differences),
        difference_half_width=half_width(differences),
    )


def half_width(values: Sequence[float]) -> float:
    """Return half of Student's 95 % interval of the mean, ``t s / sqrt(n)`` with ddof 1; NaN for one value."""
    n = len(values)
    if n < 2:
        return math.nan
    mean = sum(values) / n
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    return float(stats.t.ppf(0.975, n - 1)) * deviation / math.sqrt(n)
