"""Compares two agents on one panel: difference, significance and number of tasks needed.

Each side may have several evaluations, such as runs with different seeds: their attempts at a task are averaged, and
the spread over seeds is reported too. Evaluations of different panels are not compared, unless the panels differ only
in perturbations (`agents.evaluation.panel.told_otherwise`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cairn.agents.evaluation.evaluate import Evaluation, load_evaluation, outcomes
from cairn.agents.evaluation.metrics import Measures
from cairn.agents.evaluation.panel import Panel
from cairn.agents.evaluation.statistics import Interval, Paired, interval, paired, student
from cairn.core.errors import CairnError
from cairn.core.store.read import EpisodeRow
from cairn.envs.base import EnvConfig

Attempts = dict[tuple[int, str], list[float]]  # (part, task) -> value of each attempt
_VALUES: dict[str, Callable[[EpisodeRow], float]] = {
    "success": lambda row: float(bool(row.success)),
    "score": lambda row: row.score or 0.0,
    "return": lambda row: row.reward,
    "turns": lambda row: float(row.turns),
}


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two sides."""

    agents: tuple[str, ...]  # one per evaluation
    mean: Interval  # over tasks
    by_seed: tuple[float, ...]  # each evaluation's mean over tasks
    over_seeds: tuple[float, float] | None  # Student's 95 % interval of the mean over evaluations; None: only one
    excluded: tuple[float, ...]  # share of each evaluation's episodes of these parts that failed
    is_final: bool  # whether no part of any evaluation excludes more than `metrics.MOST_EXCLUDED`
    perturbations: tuple[str, ...]  # perturbations of its tasks, such as "rename(seed=1)"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The second side compared with the first."""

    family: str  # of the panel's part; "all": all tasks
    measure: str  # success, score, return or turns
    first: Side
    second: Side
    paired: Paired

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the comparison as JSON-ready tables."""
        return asdict(self)


def compare(first: Sequence[Path], second: Sequence[Path], measures: Sequence[str] = ("success",)) -> list[Comparison]:
    """Compare stored evaluations, part by part, and over all tasks if there are several parts.

    Raises:
        CairnError: a folder has no finished evaluation, or one with a task without a scored episode; a folder is listed
            twice on one side; the panels differ in more than perturbations; or a measure is unknown.
    """
    if unknown := [name for name in measures if name not in _VALUES]:
        raise CairnError(f"There is no measure {unknown[0]!r}; choose of {', '.join(_VALUES)}")
    sides = _loaded(first), _loaded(second)
    _refuse_other_panels([sides[0][0], sides[1][0]], Panel.tasks_hash)
    families = [part.family for part in sides[0][0].panel.parts]
    groups: list[tuple[str, set[int]]] = [(family, {number}) for number, family in enumerate(families)]
    if len(families) > 1:
        groups.append(("all", set(range(len(families)))))
    return [_compared(family, measure, sides[0], sides[1], parts) for measure in measures for family, parts in groups]


# -- helpers -----------------------------------------------------------------------------------------------------------


def _loaded(folders: Sequence[Path]) -> list[Evaluation]:
    """Return one side: different, complete evaluations of one panel."""
    if len({folder.resolve() for folder in folders}) < max(1, len(folders)):
        raise CairnError(
            f"Expected an evaluation, or several different ones, such as of runs with different seeds, got "
            f"{', '.join(map(str, folders)) or 'none'}: the same folder twice is not a second seed"
        )
    side = [load_evaluation(folder) for folder in folders]
    _refuse_other_panels(side, Panel.content_hash)
    for evaluation in side:
        _refuse_gaps(evaluation)
    return side


def _refuse_gaps(evaluation: Evaluation) -> None:
    found = outcomes(evaluation.folder, _VALUES["success"])
    parts = enumerate(evaluation.panel.parts)
    if missing := [task for number, part in parts for task in part.tasks if (number, task) not in found]:
        raise CairnError(
            f"{len(missing)} of the tasks in {str(evaluation.folder)!r}, such as {missing[0]!r}, have no episode "
            "that could be scored: all failed because of the infrastructure. Repeat the same cairn eval to retry them"
        )


def _refuse_other_panels(evaluations: Sequence[Evaluation], key: Callable[[Panel], str]) -> None:
    one = evaluations[0]
    for other in evaluations[1:]:
        if key(other.panel) != key(one.panel):
            raise CairnError(
                f"{str(one.folder)!r} is of panel {one.panel.name!r} ({one.panel.content_hash()[:12]}) and "
                f"{str(other.folder)!r} of {other.panel.name!r} ({other.panel.content_hash()[:12]}): results of "
                "different tasks are not compared. Evaluate both agents on one panel"
            )


def _compared(
    family: str, measure: str, first: Sequence[Evaluation], second: Sequence[Evaluation], parts: set[int]
) -> Comparison:
    a, b = (
        [_chosen(outcomes(each.folder, _VALUES[measure]), parts) for each in evaluations]
        for evaluations in (first, second)
    )
    joined = _named(_joined(a)), _named(_joined(b))
    return Comparison(
        family=family,
        measure=measure,
        first=_side(first, a, joined[0], measure, parts),
        second=_side(second, b, joined[1], measure, parts),
        paired=paired(*joined),
    )


def _chosen(attempts: Attempts, parts: set[int]) -> Attempts:
    return {key: values for key, values in attempts.items() if key[0] in parts}


def _joined(found: Sequence[Attempts]) -> Attempts:
    joined: Attempts = {}
    for attempts in found:
        for key, values in attempts.items():
            joined.setdefault(key, []).extend(values)
    return joined


def _named(attempts: Attempts) -> dict[str, list[float]]:
    """Return attempts by a unique task name, since several parts may use the same task id."""
    return {f"{task} (part {part})": values for (part, task), values in attempts.items()}


def _side(
    evaluations: Sequence[Evaluation],
    found: Sequence[Attempts],
    joined: Mapping[str, Sequence[float]],
    measure: str,
    parts: set[int],
) -> Side:
    means = tuple(float(np.mean([np.mean(values) for values in attempts.values()])) for attempts in found)
    return Side(
        agents=tuple(each.agent for each in evaluations),
        mean=interval(joined, is_share=measure in ("success", "score")),
        by_seed=means,
        over_seeds=student(means) if len(means) > 1 else None,
        excluded=tuple(_excluded_share([each.parts[number].measures for number in parts]) for each in evaluations),
        is_final=all(each.parts[number].measures.is_final for each in evaluations for number in parts),
        perturbations=_perturbations(evaluations[0].panel, parts),
    )


def _excluded_share(measures: Sequence[Measures]) -> float:
    excluded = sum(each.excluded for each in measures)
    return excluded / max(1, excluded + sum(each.episodes for each in measures))


def _perturbations(panel: Panel, parts: set[int]) -> tuple[str, ...]:
    """Return the names and settings of all perturbations in the given parts."""
    found = set()
    for number in parts:
        given = EnvConfig(perturb=panel.parts[number].config.get("perturb", {})).perturb
        for name, settings in given.items():
            listed = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
            found.add(f"{name}({listed})" if listed else name)
    return tuple(sorted(found))
