"""The viewer: pages about runs, rendered on the server, behind `viewer.security.Guard`.

It reads the runs' stores and changes nothing. It plays no episode and loads no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from cairn.core.errors import CairnError
from cairn.viewer.catalog import RunPlace
from cairn.viewer.pages import credit, episode, episodes, graph, groups, run, runs, system
from cairn.viewer.security import Guard
from cairn.viewer.site import STATIC, RunSite, Show

_PAGES = (runs, run, groups, episodes, episode, graph, credit, system)
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_app(runs: Sequence[RunPlace], *, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """Return the application that shows these runs, bound to `host`.

    `token`: visitors must show it; None: no token is needed.
    """
    site = RunSite(runs=tuple(runs))
    files = [Route(f"/static/{file.name}", _file(file.name)) for file in sorted(STATIC.iterdir())]
    pages = [Route(path, _endpoint(site, show)) for page in _PAGES for path, show in page.ROUTES]
    wrong = partial(_wrong, site)
    made = Starlette(routes=[*files, *pages], exception_handlers={HTTPException: wrong, CairnError: wrong})
    return Guard(made, host, token)


def _endpoint(site: RunSite, show: Show) -> Callable[[Request], Response]:
    return lambda request: show(site, request)


def _file(name: str) -> Callable[[Request], Response]:
    kind = _TYPES[name[name.rindex(".") :]]
    return lambda request: FileResponse(STATIC / name, media_type=kind, headers={"Cache-Control": "no-cache"})


def _wrong(site: RunSite, request: Request, error: Exception) -> Response:
    """Return an error page; only HTTP errors and `CairnError` are handled, others are bugs."""
    is_address = isinstance(error, HTTPException)
    status = error.status_code if isinstance(error, HTTPException) else 404
    text = str(error.detail) if isinstance(error, HTTPException) else str(error)
    return site.page("wrong.html", status, title="Not found" if is_address else "This cannot be shown", text=text)
