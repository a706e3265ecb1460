"""The same run with one setting varied, over several seeds.

Reports the final success of each variant, and paired differences.

Seeds pair the runs: variants with the same seed share warm start, tasks and evaluation. If the varied setting does not
affect the warm start, it is made once per seed and copied. Intervals are Student's t over seeds (seeds are the unit;
episodes within a run are not independent of its training).
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
from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from cairn.trainer.callbacks import Callback
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.run.history import refuse_another_run
from cairn.trainer.run.result import Run
from cairn.trainer.train import train

_AFTER_WARM_START = ("credit.", "loss.")  # sections without effect on the warm start


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One value of the varied setting."""

    value: str
    starts: tuple[float, ...]  # evaluation success before the first update, for each seed whose run finished
    ends: tuple[float, ...]  # evaluation success after the last update
    mean: float  # of `ends`; NaN without any
    half_width: float  # of the 95 % interval of the mean over seeds; NaN for one seed
    difference: float  # mean of (this - the first variant), over the seeds for which both have a run; NaN without any
    difference_half_width: float
    tasks: str  # name of the evaluation's tasks: held-out tasks or training tasks
    failed: tuple[str, ...] = ()  # seeds whose run stopped with an error, each with the error

    def to_dict(self) -> dict[str, Any]:
        """Return the variant as JSON values."""
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
    """Train every variant with seeds 0, 1, ... under `folder`, except runs finished before.

    A run that stops with an error, such as one that diverges, does not end the sweep.

    Raises:
        ConfigError: a setting is invalid, or `folder` holds runs with other settings.
        CairnError: no run of any variant finished; the message has the first error.
    """
    runs: dict[str, dict[int, Run]] = {value: {} for value in values}  # by value and seed
    failed: dict[str, list[str]] = {value: [] for value in values}
    for seed in range(seeds):
        flags = {value: flatten(parse_flags([f"{key}={value}"])) for value in values}
        settings = {v: load_run_config(config, {**(overrides or {}), "seed": seed, **flags[v]}) for v in values}
        folders = {value: folder / f"{value}-seed{seed}" for value in values}
        for value in values:
            _refuse_other_settings(folders[value], settings[value])
        if key.startswith(_AFTER_WARM_START):
            _start_together(list(folders.values()), settings[values[0]], folder / f"start-seed{seed}", callback)
        for value in values:
            try:
                runs[value][seed] = train(settings[value], folder=folders[value], callback=callback)
            except CairnError as error:
                failed[value].append(f"seed {seed}: {error}")
    if not any(runs.values()):
        raise CairnError(f"No run of the sweep came to its end. The first, {values[0]}, {failed[values[0]][0]}")
    first = {seed: run.final.success.share for seed, run in runs[values[0]].items()}
    return [_variant(value, runs[value], first, failed[value]) for value in values]


def _refuse_other_settings(folder: Path, settings: RunConfig) -> None:
    if not (folder / "run.sqlite").is_file():
        return
    with RunStore(folder / "run.sqlite") as store:
        refuse_another_run(store.meta(), settings, str(folder))


def _start_together(folders: Sequence[Path], settings: RunConfig, start: Path, callback: Callback | None) -> None:
    """Make the warm start in `start` and copy it to those of `folders` that do not exist yet."""
    missing = [folder for folder in folders if not folder.exists()]
    if not missing:
        return
    no_updates = settings.trainer.model_copy(update={"updates": 0})
    only_start = settings.model_copy(update={"trainer": no_updates})
    _refuse_other_settings(start, only_start)
    train(only_start, folder=start, callback=callback)
    for folder in missing:
        partial = folder.with_name(f".partial-{folder.name}")
        shutil.rmtree(partial, ignore_errors=True)  # of a sweep that was killed while copying
        shutil.copytree(
            start, partial, ignore=shutil.ignore_patterns("trackers", ".lock")
        )  # each copy becomes a separate run
        with RunStore(partial / "run.sqlite") as store:
            store.set_meta({"config": None, "configs": []})  # each variant stores its own
        partial.rename(folder)


def _variant(value: str, runs: Mapping[int, Run], first: Mapping[int, float], failed: Sequence[str]) -> Variant:
    ends = [run.final.success.share for run in runs.values()]
    differences = [run.final.success.share - first[seed] for seed, run in runs.items() if seed in first]
    return Variant(
        value=value,
        starts=tuple(run.reports[min(run.reports)].success.share for run in runs.values()),
        ends=tuple(ends),
        mean=_mean(ends),
        half_width=half_width(ends),
        difference=_mean(differences),
        difference_half_width=half_width(differences),
        tasks=next((run.final.tasks for run in runs.values()), ""),
        failed=tuple(failed),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def half_width(values: Sequence[float]) -> float:
    """Return half of Student's 95 % interval of the mean; NaN for one value.

    See `evaluation.statistics.student`.
    """
    if len(values) < 2:
        return math.nan
    low, high = student(values)
    return (high - low) / 2
