"""Lists of episodes: all, those of a task, and those that visited a state."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cairn.core.store import read
from cairn.viewer import queries
from cairn.viewer.pages.groups import PER_PAGE
from cairn.viewer.site import RunSite, Show, page_number

_MOST_VISITS = 200


def _list(site: RunSite, request: Request) -> Response:
    phase, task = (request.query_params.get(name) or None for name in ("phase", "task"))
    page = page_number(request, PER_PAGE)
    with site.run(request) as (place, store):
        found = read.episodes(store, phase=phase, task=task, limit=PER_PAGE + 1, offset=(page - 1) * PER_PAGE)
        return site.page(
            "episodes.html", run=queries.summary(place, store), episodes=found[:PER_PAGE], page=page,
            more=len(found) > PER_PAGE, task=task or "", phase=phase or "",
        )  # fmt: skip


def _anchor(site: RunSite, request: Request) -> Response:
    text = request.path_params["anchor"]
    try:
        anchor = int(text, 16) if len(text) == 16 else -1
    except ValueError:
        anchor = -1
    if anchor < 0:
        raise HTTPException(404, "Expected an anchor of 16 hex digits")
    with site.run(request) as (place, store):
        visits = read.visits(store, anchor, _MOST_VISITS + 1)
        if not visits:
            raise HTTPException(404, "No turn of this run was at this anchor")
        chosen = sorted({episode for episode, _ in visits[:_MOST_VISITS]})
        episodes = {row.id: row for row in read.episodes(store, ids=chosen)}
        turns = read.turns(store, chosen)
        body = store.body(visits[0][0])
        return site.page(
            "anchor.html", run=queries.summary(place, store), anchor=f"{anchor:016x}",
            rows=[(episodes[e], turns[e][t]) for e, t in visits[:_MOST_VISITS]], more=len(visits) > _MOST_VISITS,
            text="" if body is None else body.observations[visits[0][1]], most=_MOST_VISITS, first=visits[0],
        )  # fmt: skip


ROUTES: tuple[tuple[str, Show], ...] = (
    ("/runs/{run}/episodes", _list),
    ("/runs/{run}/anchors/{anchor}", _anchor),
)
