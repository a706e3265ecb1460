"""Web applications over a world: pages at addresses, and forms that call the world.

Each `Site` has its own host name (``http://mail/``); `site` combines all into one ASGI application. Displaying a page
changes nothing. Only a posted form does, by one call of the world, and then the browser is redirected to a page. If the
world rejects the call, it stays unchanged, and the form is shown again with the reason and the entered values. Pages
have no clock except the world's, and store nothing: any state outside the world is in the address.

The function `world_of` decides the world of a request; there is no sign-in. A site serves one thread.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cairn.envs.gui.parts import PER_PAGE, Page
from cairn.envs.gui.ui_actions import Deed
from cairn.envs.office.app import App
from cairn.envs.office.calls import OfficeError, calls_of
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

TEMPLATES = Path(__file__).with_name("apps") / "templates"
MAX_BODY, MAX_FIELDS = 1_000_000, 300
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'",
}
_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
_AMOUNT = re.compile(r"(\d{1,7})(?:\.(\d\d))?", re.ASCII)

WorldOf = Callable[[Request], World]
How = Callable[[World, Step], Iterator[Deed]]


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request, as input of a page."""

    world: World
    path: Mapping[str, str]  # values of the {names} in the address
    query: Mapping[str, str]
    form: Sequence[tuple[str, str]] = ()  # posted fields, in order; empty unless the page was posted
    error: str = ""  # reason why the posted form was rejected

    def call(self, app: str, name: str, /, **arguments: object) -> Any:  # Any: JSON, as the call's documentation shows
        """Execute a call; arguments that are None are omitted."""
        return self.world.call(app, name, {key: value for key, value in arguments.items() if value is not None})

    def perform(self, app: str, name: str, /, **given: object) -> Any:  # Any: JSON
        """Execute a call with the form's fields as arguments; `given` takes precedence."""
        parameters = calls_of(type(self.world.apps[app]))[name].parameters
        sent = {key for key, _ in self.form}
        arguments = {each: self.typed(each, parameters[each].kind) for each in parameters if each in sent}
        return self.world.call(app, name, {**arguments, **given})

    def value(self, name: str, otherwise: str = "") -> str:
        """Return a field's entered value, else the address's value, else `otherwise`."""
        return dict(self.form).get(name, self.query.get(name, otherwise))

    def values(self, name: str, otherwise: Sequence[str] = ()) -> list[str]:
        """Return the values of the ticked boxes."""
        return [value for key, value in self.form if key == name] if self.form else list(otherwise)

    def page(self) -> int:
        """Return the page number of a table, from 1."""
        text = self.query.get("page", "1")
        return int(text) if re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII) else 1

    def listed(self, app: str, name: str, /, **arguments: object) -> Any:  # Any: JSON
        """Return one page of a call's items."""
        return self.call(app, name, **arguments, limit=PER_PAGE, offset=(self.page() - 1) * PER_PAGE)

    def everything(self, app: str, name: str, /, **arguments: object) -> list[Any]:  # Any: JSON
        """Return all items of a call that returns pages."""
        items: list[Any] = []  # Any: JSON
        offset: int | None = 0
        while offset is not None:
            found = self.call(app, name, **arguments, offset=offset)
            items += found["items"]
            offset = found["next_offset"]
        return items

    def typed(self, name: str, kind: object) -> object:
        """Return a field in its argument's type.

        A text that is not of that type stays a text, which the call rejects.
        """
        text = self.value(name)
        if kind is int:
            return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else text
        if kind is bool:
            return text == "yes"
        if kind == list[str]:
            lines = [part.strip() for value in self.values(name) for part in re.split(r"[,\n]", value)]
            return [part for part in lines if part]
        return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An address with its page and the action of its forms."""

    path: str
    show: Callable[[Visit], Page]
    do: Callable[[Visit], str] | None = None  # executes a posted form; returns the address to redirect to
    message: str = ""  # message on the next page after success


@dataclass(frozen=True, kw_only=True)
class Site:
    """A web application."""

    name: str  # also its host name
    title: str
    places: Sequence[Place]
    how: Mapping[str, How] = field(default_factory=dict)  # call -> UI actions that carry out such a step
    data: type[App] | None = None  # the application's own tables and calls, if the office does not have it
    furnish: Callable[[World, random.Random], None] = lambda world, rng: None  # adds the initial data


def doing(app: str, name: str, to: str, **arguments: str) -> Callable[[Visit], str]:
    """Return a form's handler: a call with its fields and with parts of the address.

    `arguments` maps arguments of the call to parts of the address. The handler redirects to the form's field ``back``,
    or to `to`, in which parts of the address are in braces.
    """

    def do(visit: Visit) -> str:
        visit.perform(app, name, **{argument: visit.path[part] for argument, part in arguments.items()})
        return visit.value("back") or to.format(**visit.path)

    return do


def cents(text: str) -> int:
    """Return an amount like 12.50 in whole cents.

    Raises:
        OfficeError: the text is not an amount.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if not found:
        raise OfficeError(f"the amount must be like 12 or 12.50; got {text!r:.80}")
    return int(found[1]) * 100 + int(found[2] or 0)


def site(sites: Mapping[str, Site], world_of: WorldOf) -> ASGIApp:
    """Return the application that serves these sites, each under its name as the host."""
    titles = {name: each.title for name, each in sites.items()}
    apps = {name: _application(each, titles, world_of) for name, each in sites.items()}
    nothing = PlainTextResponse(f"There is no such host. There are: {', '.join(sites)}\n", 404)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1").lower().partition(":")[0]
        await apps.get(host, nothing)(scope, receive, send)

    return serve


def _application(each: Site, titles: Mapping[str, str], world_of: WorldOf) -> Starlette:
    files = [Route(f"/{name}", _file(name)) for name in ("style.css", "ui.js")]
    places = [
        Route(place.path, _endpoint(each, titles, place, world_of), methods=["GET", "POST"]) for place in each.places
    ]

    def wrong(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _answer(each, titles, Page(title="Not found", parts=()), str(error.detail), "", error.status_code)

    return Starlette(routes=[*files, *places], exception_handlers={HTTPException: wrong})


def _file(name: str) -> Callable[[Request], Response]:
    return lambda request: FileResponse(TEMPLATES / name, headers={"Cache-Control": "max-age=86400, immutable"})


def _endpoint(each: Site, titles: Mapping[str, str], place: Place, world_of: WorldOf) -> Callable[[Request], Any]:
    """Return the handler of one address."""  # Any: the type that Starlette awaits
    messages = {other.message for other in each.places}

    async def handle(request: Request) -> Response:
        query = dict(request.query_params)
        visit = Visit(world=world_of(request), path=dict(request.path_params), query=query)
        if request.method != "POST":
            done = query.get("done", "")
            return _shown(each, titles, place, visit, done if done in messages else "")
        if place.do is None:
            raise HTTPException(405, "nothing can be posted here")
        visit = replace(visit, form=await _form(request))
        try:
            to = place.do(visit)
        except OfficeError as error:
            return _shown(each, titles, place, replace(visit, error=str(error)), "")
        return RedirectResponse(_then(to, place.message), 303)

    return handle


def _then(to: str, message: str) -> str:
    """Return an address of this site, with the message for its page."""
    to = to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/"
    return f"{to}{'&' if '?' in to else '?'}{urlencode({'done': message})}" if message else to


async def _form(request: Request) -> list[tuple[str, str]]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise HTTPException(413, "too much was sent")
    try:
        found = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise HTTPException(400, "a form was expected") from None
    return [(name, value.replace("\r\n", "\n")) for name, value in found]


def _shown(each: Site, titles: Mapping[str, str], place: Place, visit: Visit, done: str) -> Response:
    try:
        return _answer(each, titles, place.show(visit), visit.error, done, 422 if visit.error else 200)
    except OfficeError as error:
        return _answer(each, titles, Page(title="This did not work", parts=()), visit.error or str(error), "", 404)


def _answer(each: Site, titles: Mapping[str, str], page: Page, error: str, done: str, status: int) -> Response:
    text = _templates.get_template("page.html").render(site=each, titles=titles, page=page, error=error, done=done)
    return HTMLResponse(text, status, HEADERS)


def _finalize(value: object) -> object:
    is_ours = hasattr(value, "__html__")  # output of a macro, which is already escaped
    return _NOT_IN_HTML.sub("\ufffd", value) if isinstance(value, str) and not is_ours else value


_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
