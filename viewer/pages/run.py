"""One run: its summary, curves and events; for an evaluation, its results."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from cairn.viewer import queries
from cairn.viewer.curve_lines import OpenRun
from cairn.viewer.evaluated import charts_of as budget_charts
from cairn.viewer.evaluated import evaluated
from cairn.viewer.pages.runs import charts_of, etag_of
from cairn.viewer.site import RunSite, Show

_EVENTS = 20


def _show(site: RunSite, request: Request) -> Response:
    asked = request.query_params.get("metric", "")
    with site.run(request) as (place, store):
        if (found := evaluated(place, store)) is not None:
            run = queries.summary(place, store)
            return site.page("evaluation.html", run=run, found=found, charts=budget_charts(found))
        return site.page(
            "run.html",
            run=queries.summary(place, store),
            charts=charts_of([OpenRun(place=place, store=store)], asked),
            names=store.names(),
            asked=asked,
            steps=queries.steps(store)[-12:],
            events=queries.events(store, _EVENTS),
        )


def _fragment(site: RunSite, request: Request) -> Response:
    asked = request.query_params.get("metric", "")
    with site.run(request) as (place, store):
        run = OpenRun(place=place, store=store)
        etag = etag_of([run], asked)
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={"ETag": etag})
        headers = {"ETag": etag, "Cache-Control": "no-cache"}
        if (found := evaluated(place, store)) is not None:
            return site.page("evaluation_live.html", 200, headers, found=found, charts=budget_charts(found))
        return site.page(
            "run_live.html", 200, headers, run=queries.summary(place, store), charts=charts_of([run], asked)
        )


ROUTES: tuple[tuple[str, Show], ...] = (("/runs/{run}", _show), ("/runs/{run}/live", _fragment))
