"""What all pages share: the runs, the templates, and what an address asks for.

Templates escape whatever they are given, without exception; there is no filter in them that does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from cairn.core.store import RunStore
from cairn.viewer import texts
from cairn.viewer.catalog import RunPlace

TEMPLATES, STATIC = (Path(__file__).with_name(name) for name in ("templates", "static"))
_MOST = (1 << 63) - 1  # SQLite's largest integer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSite:
    """The runs that are shown."""

    runs: tuple[RunPlace, ...]

    @contextmanager
    def run(self, request: Request) -> Iterator[tuple[RunPlace, RunStore]]:
        """Give the run that the address names, and its store."""
        found = [place for place in self.runs if place.slug == request.path_params["run"]]
        if not found:
            raise HTTPException(404, "There is no such run; the first page lists all")
        with found[0].open() as store:
            yield found[0], store

    def page(
        self, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
    ) -> Response:
        """Answer with a template."""  # Any: whatever a template shows
        text = rendered(template, site=self, **values)
        return HTMLResponse(text, status, {"Cache-Control": "no-store", **(headers or {})})


Show = Callable[[RunSite, Request], Response]


def rendered(template: str, **values: Any) -> str:  # Any: whatever a template shows
    """Return a template's text, with all that it is given escaped."""
    return _templates.get_template(template).render(**values)


def whole(request: Request, name: str, otherwise: int, most: int = _MOST) -> int:
    """Return a whole number from 0 that the address asks for, in its path or after it; `otherwise` where it does not.

    `most`: the highest that there can be.

    Raises:
        HTTPException: what it says is none.
    """
    text = str(request.path_params.get(name, request.query_params.get(name, "")))
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise HTTPException(404, f"Expected a whole number for {name}")
    return int(text)


def page_number(request: Request, per_page: int) -> int:
    """Return which page of a list the address asks for, from 1: one whose first row SQLite can count to.

    Raises:
        HTTPException: there can be no such page.
    """
    return max(whole(request, "page", 1, _MOST // per_page), 1)


def _when(moment: float | None) -> str:
    if moment is None or not math.isfinite(moment):
        return "\u2013"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def _finalize(value: object) -> object:
    is_ours = hasattr(value, "__html__")  # what a macro made: escaped already
    return texts.clean(value) if isinstance(value, str) and not is_ours else value


_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "number": texts.number,
    "signed": texts.signed,
    "percent": texts.percent,
    "seconds": texts.seconds,
    "short": texts.short,
    "lines": texts.lines,
    "cut": texts.cut,
    "when": _when,
}
