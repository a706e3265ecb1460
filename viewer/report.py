"""A self-contained HTML report of runs: curves, tables, example episodes, a graph, settings.

For evaluations: success by part with intervals, settings and versions, the best and the worst episodes. Nothing in the
file can execute, even if agents wrote markup: a policy in its head forbids scripts and requests, and all texts are
escaped and cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from cairn.agents.evaluation.evaluate import Evaluation, load_evaluation
from cairn.agents.evaluation.report import Rate, Report
from cairn.agents.evaluation.runner import latest
from cairn.core.config import flatten
from cairn.core.errors import CairnError
from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow, TurnRow
from cairn.viewer import queries
from cairn.viewer.catalog import Unread, find_runs
from cairn.viewer.credited import TRAINED, stored_update
from cairn.viewer.curve_lines import OpenRun
from cairn.viewer.group_graph import GroupGraph, group_graph
from cairn.viewer.pages.runs import drawn, opened
from cairn.viewer.site import STATIC, rendered

MOST_RUNS = 24  # runs with example episodes; curves and tables have all
_PARTS = 12  # parts of a panel with example episodes
_TURNS = 12  # of an example
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A shown episode."""

    row: EpisodeRow
    turns: list[tuple[TurnRow, str, str, float | None]]  # with observation, reply and advantage
    left: int  # turns that are not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPart:
    """A report's section on one evaluation."""

    found: Evaluation
    settings: dict[str, str]  # settings of the agent that differ from its own
    environments: list[queries.EnvironmentRow]
    examples: dict[int, list[Example]]  # of the panel's first parts, by number: the best and the worst by score


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """A report's section on one training run."""

    summary: queries.Summary
    by_type: dict[str, tuple[Rate | None, Rate]]  # of the first evaluation and of the last
    examples: list[Example]
    graph: GroupGraph | None
    method: str
    own: dict[str, str]  # settings in which the runs differ
    config: str
    versions: dict[str, str]
    environments: list[queries.EnvironmentRow]


def write_report(places: Sequence[Path], file: Path) -> tuple[int, list[str]]:
    """Write a report about the runs and evaluations at these paths.

    Returns their number, and why others are left out.

    Raises:
        CairnError: none can be read, or the file cannot be written.
    """
    with opened(find_runs(places)) as (runs, unread):
        contents = _read(runs, unread)
        text = _report(contents)
    if not contents.trained and not contents.evaluations:
        raise CairnError(f"Nothing at these places can be read: {contents.unread[0].why}")
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CairnError(f"Cannot write {str(file)!r}: {error.strerror}; name another file") from error
    return len(contents.trained) + len(contents.evaluations), [each.why for each in contents.unread]


@dataclass(slots=True, kw_only=True)
class _Contents:
    """The contents of a report."""

    unread: list[Unread]
    trained: list[OpenRun] = field(default_factory=list)
    summaries: list[queries.Summary] = field(default_factory=list)  # one per training run
    parts: list[RunPart] = field(default_factory=list)  # of the first training runs
    evaluations: list[EvaluationPart] = field(default_factory=list)


def _read(runs: Sequence[OpenRun], unread: Sequence[Unread]) -> _Contents:
    """Return the contents of the report, including the reasons of unreadable runs."""
    contents = _Contents(unread=list(unread))
    differing = _differing([run for run in runs if "panel" not in run.store.meta()])
    for run in runs:
        try:
            if "panel" in run.store.meta():
                contents.evaluations.append(_evaluation(run, load_evaluation(run.place.folder)))
            else:
                summary = queries.summary(run.place, run.store)
                contents.parts += [_run_part(run, summary, differing)] if len(contents.parts) < MOST_RUNS else []
                contents.trained.append(run)
                contents.summaries.append(summary)
        except CairnError as error:
            contents.unread.append(Unread(place=run.place, why=str(error)))
    return contents


def _report(contents: _Contents) -> str:
    style = Markup((STATIC / "style.css").read_text(encoding="utf-8"))
    return rendered(
        "report.html", style=style, policy=_POLICY, runs=contents.parts, **drawn(contents.trained),
        summaries=contents.summaries, evaluations=contents.evaluations, unread=contents.unread, most=MOST_RUNS,
        left=len(contents.summaries) - len(contents.parts),
    )  # fmt: skip


# -- one evaluation ----------------------------------------------------------------------------------------------------


def _evaluation(run: OpenRun, found: Evaluation) -> EvaluationPart:
    rows = {number: latest(run.store, number) for number in range(min(len(found.parts), _PARTS))}
    scored = {number: [row for row in listed if row.score is not None] for number, listed in rows.items()}
    return EvaluationPart(
        found=found,
        settings={key: json.dumps(value, default=str) for key, value in flatten(found.facts["agent_settings"]).items()},
        environments=queries.environments(run.store),
        examples={number: _extremes(run.store, listed, _score) for number, listed in scored.items()},
    )


def _score(row: EpisodeRow) -> float:
    return row.score or 0.0


# -- one run -----------------------------------------------------------------------------------------------------------


def _run_part(run: OpenRun, summary: queries.Summary, differing: Sequence[str]) -> RunPart:
    store, meta = run.store, run.store.meta()
    config = meta.get("config") or {}
    flat = flatten(config)
    place = _telling_group(store)
    graph, method = _graph(store, place)
    return RunPart(
        summary=summary,
        by_type=_by_type(meta),
        examples=[] if place is None else _examples(store, place),
        graph=graph,
        method=method,
        own={key: json.dumps(flat.get(key), default=str) for key in differing} if config else {},
        config=json.dumps(config, indent=2, default=str),
        versions={str(name): str(version) for name, version in (meta.get("versions") or {}).items()},
        environments=queries.environments(store),
    )


def _differing(runs: Sequence[OpenRun]) -> list[str]:
    """Return the settings in which runs differ, among runs with stored settings."""
    configs = [config for run in runs if (config := run.store.meta().get("config"))]
    flats = [flatten(config) for config in configs]
    keys = sorted(set().union(*flats)) if flats else []
    return [key for key in keys if len({json.dumps(flat.get(key), default=str) for flat in flats}) > 1]


def _by_type(meta: dict[str, Any]) -> dict[str, tuple[Rate | None, Rate]]:  # Any: JSON
    try:
        reports = {int(step): Report.from_dict(report) for step, report in (meta.get("reports") or {}).items()}
    except ValueError as error:
        raise CairnError(f"A stored report has no number of an update: {error}") from error
    if not reports:
        return {}
    first, last = reports[min(reports)], reports[max(reports)]
    rows = {kind: (first.by_type.get(kind), rate) for kind, rate in sorted(last.by_type.items())}
    return {**rows, "all": (first.success, last.success)}


def _telling_group(store: RunStore) -> tuple[str, int, int] | None:
    """Return the newest group with different returns, else the newest group, else None."""
    sql = (
        "SELECT phase, step, group_id FROM episodes WHERE phase = 'train' AND ending != 'failed' AND turns > 0 "
        "GROUP BY step, group_id ORDER BY max(reward) > min(reward) DESC, step DESC, group_id LIMIT 1"
    )
    found = store.rows(sql)
    if found and tuple(map(type, found[0])) != (str, int, int):
        raise store.damaged("its groups have no numbers")
    return found[0] if found else None


def _examples(store: RunStore, place: tuple[str, int, int]) -> list[Example]:
    """Return the best and the worst episode of a group."""
    phase, step, group = place
    rows = [row for row in read.episodes(store, phase=phase, step=step, group=group) if row.ending != "failed"]
    return _extremes(store, rows, lambda row: row.reward)


def _extremes(store: RunStore, rows: Sequence[EpisodeRow], value: Callable[[EpisodeRow], float]) -> list[Example]:
    """Return the episodes with the highest and the lowest value; one if these are the same."""
    chosen = {row.id: row for choose in (max, min) for row in ([choose(rows, key=value)] if rows else [])}
    return [_example(store, row) for row in chosen.values()]


def _example(store: RunStore, row: EpisodeRow) -> Example:
    turns = read.turns(store, [row.id])[row.id]
    (played,) = read.whole_episodes(store, [row], has_images=False)
    values = next(iter(read.advantages(store, row.id).values()), None)
    shown = [
        (turn, content.observation.text, content.reply_text, None if values is None else float(values[turn.turn]))
        for turn, content in zip(turns[:_TURNS], played.turns, strict=False)
    ]
    return Example(row=row, turns=shown, left=len(turns) - len(shown))


def _graph(store: RunStore, place: tuple[str, int, int] | None) -> tuple[GroupGraph | None, str]:
    """Return a group's picture under its training advantages, or None if it cannot be computed."""
    if place is None:
        return None, ""
    phase, step, group = place
    try:
        update = stored_update(store, step, group, phase)
        method = TRAINED if update.trained is not None else update.own_method or "grpo"
        return group_graph(store, update, place, method, method), method
    except CairnError:  # turns were deleted, or the environment is missing: the report has no graph
        return None, ""
