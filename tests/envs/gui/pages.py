"""An environment over documents that a test writes: ``http://site/NAME`` for each of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from cairn.envs.base import EnvMeta
from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.browsing import GuiEnv, GuiVerdict, Opening


class PagesEnv(GuiEnv):
    """A document a task; the task is solved by saying yes."""

    meta = EnvMeta(
        name="pages",
        version=1,
        turn_limit=100,
        reward_range=(0.0, 1.0),
        summary="Documents of a test.",
        is_deterministic=True,
        is_blocking=True,
    )

    def __init__(self, documents: Mapping[str, str], **config: Any) -> None:  # Any: GuiConfig's
        self.documents = documents
        self.posted: list[str] = []  # bodies of forms
        super().__init__(**config)

    def tasks(self) -> Sequence[str]:
        return list(self.documents)

    def open(self, task_id: str, rng: random.Random) -> Opening:
        site = Starlette(routes=[Route("/{name:path}", self._answer, methods=["GET", "POST"])])
        return Opening(goal="Say yes.", url=f"http://site/{task_id}", sites={"site": site})

    async def judge(self, page: Any, message: str | None) -> GuiVerdict | None:  # Any: a page, of the extra gui
        if message is None:
            return None
        return GuiVerdict(score=float(message == "yes"), success=message == "yes", text="Over.")

    async def _answer(self, request: Request) -> Response:
        if request.method == "POST":
            self.posted.append((await request.body()).decode())
        return HTMLResponse(f"<!doctype html>{self.documents.get(request.path_params['name'], '')}")


def find(env: GuiEnv, role: str, name: str = "") -> AccessibilityNode:
    """Return the one element of a role and a name."""
    assert env.view is not None
    (node,) = [node for node in env.view.nodes if node.role == role and node.name == name]
    return node


def bid(env: GuiEnv, role: str, name: str = "") -> str:
    """Return its number."""
    return find(env, role, name).bid
