"""All runs, compared: a table, and curves with intervals that are drawn anew while a run goes on; evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from cairn.viewer import queries
from cairn.viewer.catalog import RunPlace
from cairn.viewer.charts import Chart, line_chart
from cairn.viewer.curve_lines import OpenRun, Variant, metric_line, variants
from cairn.viewer.evaluated import evaluated
from cairn.viewer.site import Show, Site

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


def _show(site: Site, request: Request) -> Response:
    asked = request.query_params.get("metric", "")
    with opened(site.runs) as runs:
        names = sorted({name for run in runs for name in run.store.names()})
        return site.page("runs.html", names=names, asked=asked, **_shown(runs, asked))


def _fragment(site: Site, request: Request) -> Response:
    """Answer with the tables and the charts alone, or with nothing where nothing is new."""
    asked = request.query_params.get("metric", "")
    with opened(site.runs) as runs:
        etag = etag_of(runs, asked)
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={"ETag": etag})
        headers = {"ETag": etag, "Cache-Control": "no-cache"}
        return site.page("runs_live.html", 200, headers, **_shown(runs, asked))


def _shown(runs: Sequence[OpenRun], asked: str) -> dict[str, Any]:  # Any: what the templates show
    """Return training runs and evaluations, apart, and the charts of the former."""
    found = [(run, evaluated(run.place, run.store)) for run in runs]
    trained = [run for run, evaluation in found if evaluation is None]
    evaluations = [evaluation for _, evaluation in found if evaluation is not None]
    summaries = [queries.summary(run.place, run.store) for run in trained]
    live = any(each.is_live for each in summaries) or any(each.is_live for each in evaluations)
    return {"runs": summaries, "evaluations": evaluations, "charts": charts_of(trained, asked), "live": live}


@contextmanager
def opened(places: Sequence[RunPlace]) -> Iterator[list[OpenRun]]:
    """Give the runs with their stores open."""
    with ExitStack() as stack:
        yield [OpenRun(place=place, store=stack.enter_context(place.open())) for place in places]


def etag_of(runs: Sequence[OpenRun], asked: str) -> str:
    """Return a mark of what a live page shows of these runs."""
    return f'"{sha256(repr([asked, *(queries.state(run.store) for run in runs)]).encode()).hexdigest()[:24]}"'


def charts_of(runs: Sequence[OpenRun], asked: str = "") -> list[Chart]:
    """Return the charts of some runs: success, what there is of the usual metrics, and the one asked for, first."""
    found = variants(runs)
    charts = [_success(found)]
    for name, title, unit, scale, top in _PANELS:
        charts.append(_chart(found, name, title, unit, scale, top))
    if asked and asked not in {name for name, *_ in _PANELS}:
        charts.insert(0, _chart(found, asked, asked, "as recorded", 1.0, None))
    return [chart for chart in charts if chart.lines]


def _success(found: Sequence[Variant]) -> Chart:
    lines = [metric_line(each, "eval/success", 100) for each in found]
    held_out = [line for line in lines if line.points]
    sampled = [metric_line(each, "success", 100, suffix=", training tasks", is_quiet=True) for each in found]
    shown = [*held_out, *(line for line in sampled if line.points)]
    return line_chart("Success on held-out tasks", "% of episodes", shown, top=100)


def _chart(found: Sequence[Variant], name: str, title: str, unit: str, scale: float, top: float | None) -> Chart:
    lines = [metric_line(each, name, scale) for each in found]
    return line_chart(title, unit, [line for line in lines if line.points], top=top)


ROUTES: tuple[tuple[str, Show], ...] = (("/", _show), ("/live", _fragment))
