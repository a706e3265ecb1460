"""An application and its tasks, each in one file of its own, are found, served, played and judged like ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.core.errors import MissingProgramError
from cairn.envs.gui import apps, tasks
from cairn.envs.gui.variants import apps as variant
from cairn.envs.office.validator import judge
from cairn.envs.registry import make
from cairn.sandboxes.browser.find import find_browser

EXAMPLES = Path(__file__).parents[3] / "examples" / "gui"
CACHES = (apps.sites, tasks.templates, variant._ids)
pytestmark = pytest.mark.xdist_group("memory")


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example's two files, as if they were beside ours."""
    for package, name in ((apps, "apps"), (tasks, "tasks")):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(EXAMPLES / name)])
    for cached in CACHES:
        cached.cache_clear()
    yield
    for cached in CACHES:
        cached.cache_clear()
    for name in ("apps", "tasks"):
        sys.modules.pop(f"cairn.envs.gui.{name}.notes", None)
        delattr(sys.modules[f"cairn.envs.gui.{name}"], "notes")


@pytest.mark.parametrize("template", ["note-write", "note-tick"])
def test_the_oracle_solves_it_and_nothing_else_does(template: str) -> None:
    try:
        find_browser()
    except MissingProgramError as error:
        pytest.skip(str(error))
    with make("gui/apps", apps=("notes",)) as env:
        assert f"{template}/0" in env.tasks()
        _, info = env.reset(options={"task": f"{template}/0"})
        terminated = False
        while not terminated:
            _, score, terminated, _, info = env.step(env.oracle_action("clerk"))
        assert (score, info["success"]) == (1.0, True)
        env.reset(options={"task": f"{template}/0"})
        _, score, terminated, _, info = env.step("send_msg_to_user('Done.')")
        assert (score, terminated, info["success"]) == (0.0, True, False)


def test_other_changes_in_a_custom_application_are_damage() -> None:
    task = tasks.make_task("note-write", 3)
    world = task.world.copy()
    assert world.state() == task.world.state()
    world.call("notes", "write", {"text": str(task.steps[0].arguments["text"])})
    assert judge(task.world, world, task, "Done.").success
    world.call("notes", "tick", {"note_id": sorted(world.tables["notes"])[0]})
    found = judge(task.world, world, task, "Done.")
    assert (found.success, found.score) == (False, 0.0)
    assert "not asked for: notes" in found.problems[0]
