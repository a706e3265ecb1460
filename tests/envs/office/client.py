"""A tiny client for oracle programs: every call goes to the world as JSON and comes back as JSON."""

from __future__ import annotations

import json
from types import SimpleNamespace

from cairn.envs.office.calls import OfficeError, calls_of
from cairn.envs.office.documentation import APPS, documentation
from cairn.envs.office.world import World


def run(program: str, world: World) -> object:
    """Run a test program in a world and return its submission."""
    submitted: list[object] = []

    def submit(answer: object = None) -> None:
        submitted.append(json.loads(json.dumps(answer)))

    scope = {"office": office(world), "OfficeError": OfficeError, "submit": submit}
    exec(program, scope)  # noqa: S102  (the templates' own oracle programs)
    assert len(submitted) == 1, "a program submits once"
    return submitted[0]


def office(world: World) -> SimpleNamespace:
    """Return the object that programs know as `office`."""
    apps = {
        app.name: SimpleNamespace(**{name: _forward(world, app.name, name) for name in calls_of(app)}) for app in APPS
    }
    return SimpleNamespace(**apps, docs=documentation)


def _forward(world: World, app: str, name: str) -> object:
    def forward(**arguments: object) -> object:
        return json.loads(json.dumps(world.call(app, name, json.loads(json.dumps(arguments)))))

    return forward
