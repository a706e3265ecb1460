"""MiniWoB++'s pages from the package `miniwob`: their names, their durations, and a site.

The package itself is not imported, since that would need selenium. The site serves only files of the package's `html`
folder.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cairn.core.errors import MissingExtraError

HOST = "miniwob"
LEFT_OUT: Mapping[str, str] = {
    "hover-shape": "It never ends and gives no reward: the code that would is commented out.",
    "social-media": "Its icons look otherwise under the mouse, by pictures that come between press and release.",
    "simon-says": "Its buttons light up for a quarter of a second, between two observations of an agent.",
}
_KEPT = {"Cache-Control": "max-age=86400, immutable"}
_DEFAULT_S = 10  # core.EPISODE_MAX_TIME of pages that set none
_TIME = re.compile(r"core\.EPISODE_MAX_TIME\s*=\s*(\d+)000;")


@cache
def folder() -> Path:
    """Return the package's folder of pages.

    Raises:
        MissingExtraError: the package is not installed.
    """
    spec = find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise MissingExtraError("The environment 'gui/miniwob'", "miniwob")
    return Path(spec.origin).parent / "html"


@cache
def pages() -> Mapping[str, str]:
    """Return the paths of the playable pages, sorted by name."""
    found = {file.stem: file for file in folder().glob("miniwob/*.html")}
    found |= {f"flight.{file.parent.name}": file for file in folder().glob("flight/*/wrapper.html")}
    return {name: found[name].relative_to(folder()).as_posix() for name in sorted(found) if name not in LEFT_OUT}


@cache
def seconds(name: str) -> int:
    """Return a page's duration."""
    found = _TIME.search((folder() / pages()[name]).read_text(encoding="utf-8"))
    return int(found[1]) if found else _DEFAULT_S


async def site(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI application that serves a file of the package."""
    content = _content(unquote(scope["path"]).lstrip("/"))
    if content is None:
        await Response("There is no such file.", 404, media_type="text/plain")(scope, receive, send)
        return
    kind = mimetypes.guess_type(scope["path"])[0] or "application/octet-stream"
    await Response(content, media_type=kind, headers=_KEPT)(scope, receive, send)


@cache
def _files() -> frozenset[str]:
    return frozenset(file.relative_to(folder()).as_posix() for file in folder().rglob("*") if file.is_file())


@cache
def _content(path: str) -> bytes | None:
    return (folder() / path).read_bytes() if path in _files() else None
