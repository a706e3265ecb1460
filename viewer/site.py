"""Shared parts of all pages: the runs, the templates, and the parsing of URLs.

Templates escape all values without exception; no filter in them bypasses this.
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
    """The runs of the viewer."""

    runs: tuple[RunPlace, ...]

    @contextmanager
    def run(self, request: Request) -> Iterator[tuple[RunPlace, RunStore]]:
        """Yield the run that the URL names, and its store."""
        found = [place for place in self.runs if place.slug == request.path_params["run"]]
        if not found:
            raise HTTPException(404, "There is no such run; the first page lists all")
        with found[0].open() as store:
            yield found[0], store

    def page(
        self, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
    ) -> Response:
        """Return a page rendered from a template."""  # Any: values of any template
        text = rendered(template, site=self, **values)
        return HTMLResponse(text, status, {"Cache-Control": "no-store", **(headers or {})})


Show = Callable[[RunSite, Request], Response]


def rendered(template: str, **values: Any) -> str:  # Any: values of any template
    """Return a template's text, with all values escaped."""
    return _templates.get_template(template).render(**values)


def whole(request: Request, name: str, otherwise: int, most: int = _MOST) -> int:
    """Return a non-negative integer from the URL's path or query, or `otherwise`.

    `most`: the largest allowed value.

    Raises:
        HTTPException: the value is not such an integer.
    """
    text = str(request.path_params.get(name, request.query_params.get(name, "")))
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise HTTPException(404, f"Expected a whole number for {name}")
    return int(text)


def page_number(request: Request, per_page: int) -> int:
    """Return the page of a list that the URL requests, from 1.

    The page's first row must be within SQLite's integers.

    Raises:
        HTTPException: the page is invalid.
    """
    return max(whole(request, "page", 1, _MOST // per_page), 1)


def _when(moment: float | None) -> str:
    if moment is None or not math.isfinite(moment):
        return "\u2013"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def _finalize(value: object) -> object:
    is_ours = hasattr(value, "__html__")  # output of a macro: escaped already
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
