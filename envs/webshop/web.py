"""The web shop as web pages: a small ASGI application around the text shop.

====  =======================  =========================================================================================
GET   ``/``                    a form that starts an episode
POST  ``/episodes``            ``task`` and ``seed``, as form or JSON, both optional: redirects to ``/s/TOKEN/``
GET   ``/s/TOKEN/``            the episode's current page
POST  ``/s/TOKEN/act``         form: ``search`` or ``click``, and ``at``, the page's mark; redirects to ``/s/TOKEN/``
GET   ``/s/TOKEN/state``       JSON for harnesses: the last result of ``step``, ``info``, and the turn
POST  ``/s/TOKEN/reset``       ``task`` and ``seed`` as JSON: new episode with the same token; responds like ``state``
====  =======================  =========================================================================================

Every click and search becomes an action's text for `WebShopEnv.step`, so pages and text always agree. A request from an
outdated page (Back button, double click) is not executed, and the page says so. An action without effect costs a turn,
as in the text shop. `web_pages` renders the pages; `web_guard` checks the requests.

`make_app` serves all of this; `make_pages` serves only the pages at ``/s/TOKEN/`` and ``/s/TOKEN/act``, for episodes
that its caller opens.

Episodes live only as long as the process. Several threads or processes are not supported.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.web_episodes import Episodes, NoEpisodeError, NoTaskError, WebEpisode
from cairn.envs.webshop.web_guard import LOOPBACK, ShopGuard
from cairn.envs.webshop.web_pages import TEMPLATES, error_page, label_of, page, start_page

_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"
_MAX_FIELDS = 16


def make_app(env: WebShopEnv, task: str = "", *, capacity: int = 256, hosts: Collection[str] = LOOPBACK) -> Starlette:
    """Return the application.

    Args:
        env: plays every episode; must not be used elsewhere meanwhile.
        task: first task that the start page offers; default: the first of the split.
        capacity: maximum number of stored episodes.
        hosts: allowed host names of the server, without ports.

    Raises:
        CairnError: unknown task, no task at all, or no room for an episode.
    """
    if task and not env.has_task(task):
        raise NoTaskError(f"There is no task {task[:200]!r}; cairn envs list webshop --tasks shows them.")
    episodes = Episodes(env, capacity)
    harness = _Harness(env, episodes, task or env.tasks()[0], capacity)
    routes = [
        Route("/", harness.start),
        Route("/episodes", harness.open, methods=["POST"]),
        Route("/s/{token}/state", harness.state),
        Route("/s/{token}/reset", harness.reset, methods=["POST"]),
    ]
    return _app([*_pages(env, episodes), *routes], hosts, can_start=True)


def make_pages(env: WebShopEnv, episodes: Episodes, *, hosts: Collection[str] = LOOPBACK) -> Starlette:
    """Return only the shop's pages, for episodes that this process opens.

    Visitors cannot start episodes or read JSON.
    """
    return _app(_pages(env, episodes), hosts, can_start=False)


def _app(routes: list[Route], hosts: Collection[str], *, can_start: bool) -> Starlette:
    app = Starlette(
        routes=routes,
        middleware=[Middleware(ShopGuard, hosts=hosts)],
        exception_handlers={HTTPException: _error, NoEpisodeError: _no_episode, NoTaskError: _no_task},
    )
    app.state.can_start = can_start
    return app


def _pages(env: WebShopEnv, episodes: Episodes) -> list[Route]:
    pages = _Pages(env, episodes)
    return [
        Route("/style.css", pages.style),
        Route("/s/{token}/", pages.show),
        Route("/s/{token}/act", pages.act, methods=["POST"]),
    ]


class _Pages:
    """Handlers of the shop's pages; no handler awaits between reading and storing an episode."""

    def __init__(self, env: WebShopEnv, episodes: Episodes) -> None:
        self._env, self._episodes = env, episodes

    async def style(self, request: Request) -> Response:
        return FileResponse(TEMPLATES / "style.css", headers={"cache-control": "max-age=3600, immutable"})

    async def show(self, request: Request) -> Response:
        return HTMLResponse(page(self._env, self._episodes.find(request.path_params["token"])))

    async def act(self, request: Request) -> Response:
        token, fields = request.path_params["token"], await _fields(request, "search", "click", "at")
        episode = self._episodes.find(token)
        if ("search" in fields) == ("click" in fields):
            raise HTTPException(400, f"Expected one of the fields 'search' and 'click', got {sorted(fields)!r}.")
        if "search" in fields:
            action = f"search[{fields['search']}]"
        else:
            action = f"click[{label_of(episode, fields['click'])}]"
        self._episodes.act(token, action, fields.get("at"))
        return RedirectResponse(f"/s/{token}/", 303)


class _Harness:
    """Handlers for harnesses; no handler awaits between reading and storing an episode."""

    def __init__(self, env: WebShopEnv, episodes: Episodes, task: str, capacity: int) -> None:
        self._env, self._episodes, self._task, self._capacity = env, episodes, task, capacity

    async def start(self, request: Request) -> Response:
        return HTMLResponse(start_page(self._env, self._task, self._capacity))

    async def open(self, request: Request) -> Response:
        token = self._episodes.open(*_task_and_seed(await _fields(request, "task", "seed")))
        return RedirectResponse(f"/s/{token}/", 303)

    async def state(self, request: Request) -> Response:
        return _json(self._episode_json(self._episodes.find(request.path_params["token"])))

    async def reset(self, request: Request) -> Response:
        fields = await _fields(request, "task", "seed", only=_JSON)
        return _json(self._episode_json(self._episodes.reset(request.path_params["token"], *_task_and_seed(fields))))

    def _episode_json(self, episode: WebEpisode) -> dict[str, Any]:  # Any: JSON
        return {
            **episode.info,
            "turn": episode.turn,
            "turn_limit": self._env.turn_limit,
            "reward": episode.reward,
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "observation": episode.observation,
            "page": episode.state.page,
            "action": episode.action,
            "notice": episode.notice,
        }


async def _fields(request: Request, *known: str, only: str = "") -> dict[str, Any]:  # Any: JSON, or texts of a form
    """Return the fields of a posted form or of a JSON object.

    Raises:
        HTTPException: the body is neither, or has other fields.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ({only} if only else {_FORM, _JSON}):
        raise HTTPException(415, f"Expected the content type {only or f'{_FORM} or {_JSON}'}, got {kind!r}.")
    body = await request.body()
    try:
        fields = json.loads(body) if kind == _JSON else _of_form(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The body cannot be read as {kind}: {error}") from None
    if not isinstance(fields, dict) or not fields.keys() <= set(known):
        got = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
        raise HTTPException(400, f"Expected no other fields than {list(known)!r}, got {got!r:.200}.")
    return fields


def _of_form(body: bytes) -> dict[str, str]:
    pairs = parse_qs(
        body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=_MAX_FIELDS
    )
    for name, values in pairs.items():
        if len(values) > 1:
            raise ValueError(f"the field {name[:40]!r} occurs {len(values)} times")
    return {name: value for name, (value,) in pairs.items()}


def _task_and_seed(fields: dict[str, Any]) -> tuple[str | None, int | None]:  # Any: JSON, or texts of a form
    task, seed = fields.get("task") or None, fields.get("seed")
    if isinstance(seed, str) and seed.isascii() and seed.isdigit() and len(seed) < 19:
        seed = int(seed)
    if not isinstance(task, str | None):
        raise HTTPException(400, f"Expected the id of a task, got {task!r:.200}.")
    if seed is not None and not (type(seed) is int and 0 <= seed < 2**63):
        raise HTTPException(400, f"Expected a seed of 0 or more, below 2**63, got {seed!r:.200}.")
    return task, seed


def _json(value: dict[str, Any], status: int = 200) -> Response:  # Any: JSON
    """Return a JSON response; escaped, since observations may hold lone surrogates."""
    return Response(json.dumps(value), status, media_type=_JSON)


def _refuse(request: Request, status: int, message: str, headers: Any = None) -> Response:  # Any: as Starlette types it
    if request.url.path.endswith(("/state", "/reset")):
        return _json({"error": message}, status)
    return HTMLResponse(error_page(status, message, can_start=request.app.state.can_start), status, headers)


async def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refuse(request, error.status_code, error.detail, error.headers)


async def _no_episode(request: Request, error: Exception) -> Response:
    return _refuse(request, 410 if getattr(error, "was_dropped", False) else 404, str(error))


async def _no_task(request: Request, error: Exception) -> Response:
    return _refuse(request, 404, str(error))
