"""The same run with one setting varied, over several seeds: final success of each variant, and paired differences.

Seeds pair the runs: variants of one seed share warm start, tasks and evaluation. Where the varied setting has no say in
the warm start, it is made once a seed and copied. Intervals are Student's t over seeds (seeds are the unit; episodes
within a run are not independent of its training).
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cairn.agents.evaluation.statistics import student
from cairn.core.config import flatten, parse_flags
from cairn.core.store import RunStore
from cairn.trainer.callbacks import Callback
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.run.history import refuse_another_run
from cairn.trainer.run.result import Run
from cairn.trainer.train import train

_AFTER_WARM_START = ("credit.", "loss.")  # sections of which a warm start uses nothing


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One value of the varied setting."""

    value: str
    starts: tuple[float, ...]  # success in evaluation before the first update, one a seed
    ends: tuple[float, ...]  # after the last
    mean: float  # of `ends`
    half_width: float  # of the 95 % interval of the mean over seeds; NaN for one seed
    difference: float  # mean of (this - the first variant), paired by seed
    difference_half_width: float
    tasks: str  # name of the evaluation's tasks: held-out tasks or training tasks

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return asdict(self)


def sweep(
    config: str | Path | Mapping[str, Any],
    key: str,
    values: Sequence[str],
    seeds: int,
    folder: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
) -> list[Variant]:
    """Train every variant with seeds 0, 1, ... under `folder`; finished runs there are not repeated.

    Raises:
        ConfigError: a setting is wrong, or `folder` holds runs with other settings.
    """
    runs: dict[str, list[Run]] = {value: [] for value in values}
    for seed in range(seeds):
        flags = {value: flatten(parse_flags([f"{key}={value}"])) for value in values}
        settings = {v: load_run_config(config, {**(overrides or {}), "seed": seed, **flags[v]}) for v in values}
        folders = {value: folder / f"{value}-seed{seed}" for value in values}
        for value in values:
            _refuse_other_settings(folders[value], settings[value])
        if key.startswith(_AFTER_WARM_START):
            _start_together(list(folders.values()), settings[values[0]], folder / f"start-seed{seed}", callback)
        for value in values:
            runs[value].append(train(settings[value], folder=folders[value], callback=callback))
    first = [run.final.success.share for run in runs[values[0]]]
    return [_variant(value, runs[value], first) for value in values]


def _refuse_other_settings(folder: Path, settings: RunConfig) -> None:
    if not (folder / "run.sqlite").is_file():
        return
    with RunStore(folder / "run.sqlite") as store:
        refuse_another_run(store.meta(), settings, str(folder))


def _start_together(folders: Sequence[Path], settings: RunConfig, start: Path, callback: Callback | None) -> None:
    """Make the warm start in `start` and copy it to those of `folders` that hold no run yet."""
    missing = [folder for folder in folders if not folder.exists()]
    if not missing:
        return
    no_updates = settings.trainer.model_copy(update={"updates": 0})
    only_start = settings.model_copy(update={"trainer": no_updates})
    _refuse_other_settings(start, only_start)
    train(only_start, folder=start, callback=callback)
    for folder in missing:
        partial = folder.with_name(f".partial-{folder.name}")
        shutil.rmtree(partial, ignore_errors=True)  # of a comparison that was killed while it copied
        shutil.copytree(
            start, partial, ignore=shutil.ignore_patterns("trackers", ".lock")
        )  # each is a run of its own there
        with RunStore(partial / "run.sqlite") as store:
            store.set_meta({"config": None, "configs": []})  # the run that continues from here has its own
        partial.rename(folder)


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
        tasks=runs[0].final.tasks,
    )


def half_width(values: Sequence[float]) -> float:
    """Return half of Student's 95 % interval of the mean (`evaluation.statistics.student`); NaN for one value."""
    if len(values) < 2:
        return math.nan
    low, high = student(values)
    return (high - low) / 2
