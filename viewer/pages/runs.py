"""All runs compared: a table, curves with intervals that are updated live, and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from cairn.agents.evaluation.report import name_tasks
from cairn.core.errors import CairnError
from cairn.viewer import queries
from cairn.viewer.catalog import RunPlace, Unread
from cairn.viewer.charts import Chart, line_chart
from cairn.viewer.curve_lines import CurveVariant, OpenRun, metric_line, variants
from cairn.viewer.evaluated import Evaluated, evaluated
from cairn.viewer.site import RunSite, Show

_PANELS = (  # metric, title, unit, factor, least top of the axis
    ("return", "Return", "sum of an episode's rewards, mean over training episodes", 1.0, None),
    ("turns", "Turns an episode", "turns, mean over training episodes", 1.0, None),
    ("entropy", "Entropy of the policy", "nats a decision", 1.0, None),
    (
        "anchor_coverage",
        "Anchor coverage",
        "% of steps whose state occurs again in the group",
        100.0,
        100,
    ),
    ("tokens_per_second", "Speed", "tokens a second of the whole update", 1.0, None),
)


def _show(site: RunSite, request: Request) -> Response:
    asked = request.query_params.get("metric", "")
    with opened(site.runs) as (runs, unread):
        return site.page("runs.html", asked=asked, **_shown(runs, unread, asked))


def _fragment(site: RunSite, request: Request) -> Response:
    """Return only the tables and charts, or status 304 if nothing has changed."""
    asked = request.query_params.get("metric", "")
    with opened(site.runs) as (runs, unread):
        etag = etag_of(runs, asked)
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={"ETag": etag})
        headers = {"ETag": etag, "Cache-Control": "no-cache"}
        return site.page("runs_live.html", 200, headers, **_shown(runs, unread, asked))


def _shown(runs: Sequence[OpenRun], unread: Sequence[Unread], asked: str) -> dict[str, Any]:  # Any: for the templates
    """Return training runs with their charts, evaluations, and unreadable runs, separately."""
    trained, summaries, evaluations, left = list[OpenRun](), list[queries.Summary](), list[Evaluated](), list(unread)
    for run in runs:
        try:
            found = evaluated(run.place, run.store) or queries.summary(run.place, run.store)
        except CairnError as error:
            left.append(Unread(place=run.place, why=str(error)))
            continue
        if isinstance(found, Evaluated):
            evaluations.append(found)
        else:
            trained.append(run)
            summaries.append(found)
    live = any(each.is_live for each in summaries) or any(each.is_live for each in evaluations)
    shown = {"runs": summaries, "evaluations": evaluations, "unread": left, "live": live}
    return {**shown, **drawn(trained, asked)}


def drawn(runs: Sequence[OpenRun], asked: str = "") -> dict[str, Any]:  # Any: for the templates
    """Return the charts of training runs, the names of their metrics, and an error or ""."""
    try:
        names = sorted({name for run in runs for name in run.store.names()})
        return {"charts": charts_of(runs, asked) if runs else [], "names": names, "undrawn": ""}
    except CairnError as error:
        return {"charts": [], "names": [], "undrawn": str(error)}


@contextmanager
def opened(places: Sequence[RunPlace]) -> Iterator[tuple[list[OpenRun], list[Unread]]]:
    """Yield the runs with open stores, and those whose stores cannot be read."""
    runs, unread = list[OpenRun](), list[Unread]()
    with ExitStack() as stack:
        for place in places:
            try:
                store = stack.enter_context(place.open())
                queries.state(store), store.meta()  # raises if the store is damaged
                runs.append(OpenRun(place=place, store=store))
            except CairnError as error:
                unread.append(Unread(place=place, why=str(error)))
        yield runs, unread


def etag_of(runs: Sequence[OpenRun], asked: str) -> str:
    """Return an ETag of the live page of these runs."""
    return f'"{sha256(repr([asked, *(queries.state(run.store) for run in runs)]).encode()).hexdigest()[:24]}"'


def charts_of(runs: Sequence[OpenRun], asked: str = "") -> list[Chart]:
    """Return the charts of runs: the requested metric, success, and available usual metrics."""
    found = variants(runs)
    charts = [_success(found)]
    for name, title, unit, scale, top in _PANELS:
        charts.append(_chart(found, name, title, unit, scale, top))
    if asked and asked not in {name for name, *_ in _PANELS}:
        charts.insert(0, _chart(found, asked, asked, "as recorded", 1.0, None))
    return [chart for chart in charts if chart.lines]


def _success(found: Sequence[CurveVariant]) -> Chart:
    names = {name_tasks(queries.training_share(run.store)) for each in found for run in each.runs}
    name = names.pop() if len(names) == 1 else "evaluation tasks"
    lines = [metric_line(each, "eval/success", 100) for each in found]
    evaluated = [line for line in lines if line.points]
    sampled = [metric_line(each, "success", 100, suffix=", while training", is_quiet=True) for each in found]
    shown = [*evaluated, *(line for line in sampled if line.points)]
    return line_chart(f"Success on {name}", "% of episodes", shown, top=100)


def _chart(found: Sequence[CurveVariant], name: str, title: str, unit: str, scale: float, top: float | None) -> Chart:
    lines = [metric_line(each, name, scale) for each in found]
    return line_chart(title, unit, [line for line in lines if line.points], top=top)


ROUTES: tuple[tuple[str, Show], ...] = (("/", _show), ("/live", _fragment))
