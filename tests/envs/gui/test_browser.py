"""The pages in a real Chromium: actions find their elements, and their effects solve the tasks.

A task of each application by default; all of them are slow. `benchmark` plays any seeds and reports the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from cairn.envs.gui.apps import sites
from cairn.envs.gui.tasks import make_task, templates
from tests.envs.office.desk import desk

pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")

from tests.envs.gui.browser import CHROMIUM, Player, player

pytestmark = [
    pytest.mark.rotating(4),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("memory"),  # one browser for all
]
# Every application, and every kind of deed and of control: dialogue, menu, boxes, radio buttons, wizard, pages.
SAMPLE = ("mail-mark-unread", "calendar-cancel", "files-unshare", "issues-report", "sheets-delete-row",
          "settings-plan-backup", "contacts-merge", "payments-pay-request", "contact-from-mail")  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Player]:
    with player() as found:
        yield found


def benchmark(names: Iterable[str], seeds: Iterable[int]) -> dict[str, list[str]]:
    """Play tasks in Chromium; returns the errors of each template, if any, with the seed."""
    found: dict[str, list[str]] = {}
    with player() as chromium:
        for name in names:
            found[name] = []
            for seed in seeds:
                verdict, _ = chromium.play(make_task(name, seed))
                found[name] += [f"seed {seed}: {problem}" for problem in verdict.problems]
    return found


@pytest.mark.parametrize("template", SAMPLE)
def test_a_task_is_done_in_chromium(template: str, chromium: Player) -> None:
    verdict, _ = chromium.play(make_task(template, 0))
    assert (verdict.success, verdict.problems) == (True, ())


@pytest.mark.slow
@pytest.mark.parametrize("template", templates())
def test_every_task_is_done_in_chromium(template: str, chromium: Player) -> None:
    for seed in (0, 1):
        verdict, _ = chromium.play(make_task(template, seed))
        assert (verdict.success, verdict.problems) == (True, ())


def test_the_sample_has_every_application() -> None:
    assert {app for name in SAMPLE for app in templates()[name].apps} == set(sites())


def test_hostile_texts_run_nothing(chromium: Player) -> None:
    world = make_task("mail-send", 0).world
    chromium.show(world)
    said: list[str] = []
    chromium.page.on("dialog", lambda dialog: said.append(dialog.message))
    for host, path in (("mail", "/"), ("sheets", "/sheet?name=Suppliers&order=Company"), ("calendar", "/search?q=img")):
        chromium.page.goto(f"http://{host}{path}")
        assert "taken over" not in chromium.page.title()
        assert chromium.page.evaluate("document.images.length") == 0
    assert not said


def test_nothing_is_fetched_from_elsewhere(chromium: Player) -> None:
    chromium.show(desk())
    asked: list[str] = []
    chromium.page.on("request", lambda request: asked.append(request.url))
    for host in sites():
        chromium.page.goto(f"http://{host}/")
    files = {f"http://{host}/{name}" for host in sites() for name in ("", "style.css", "ui.js")}
    assert set(asked) <= files
