"""Pages in a real browser: by keyboard, in dark, during a run, and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from cairn.core.folders import writing_to
from cairn.core.records import Box
from cairn.core.store import RunStore
from tests.viewer.browsing import Watched, served
from tests.viewer.stored import HALL, METRICS, episode, make_run, png, turn

pytestmark = pytest.mark.rotating(3)

GROUP = "/runs/1-house/groups/train/1/0"
WAIT_MS = 60_000  # the longest that a busy machine may take


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "house")


@pytest.fixture
def origin(folder: Path) -> Iterator[str]:
    with served([folder]) as url:
        yield url


@pytest.fixture
def watched(browser: Browser, origin: str) -> Iterator[Watched]:
    made = Watched(browser, origin)
    yield made
    made.close()
    assert made.faults == []


def test_states_of_a_graph_are_reached_and_chosen_by_keyboard(origin: str, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{origin}{GROUP}/graph?method=gigpo")
    page.locator("[data-graph]").focus()
    page.keyboard.press("Tab")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "visits, success" in label
    page.keyboard.press("Enter")
    page.wait_for_url("**#state")
    expect(page.locator("#state h2")).to_contain_text("visits")


def test_zooming_changes_the_size_of_the_graph(origin: str, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{origin}{GROUP}/graph")
    width = "Number(document.querySelector('[data-graph] svg').getAttribute('width'))"
    before = page.evaluate(width)
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(width) == pytest.approx(1.3 * before)
    page.get_by_role("button", name="Zoom out").click()
    assert page.evaluate(width) == pytest.approx(before)


def test_keys_go_from_turn_to_turn(origin: str, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{origin}/runs/1-house/episodes/1")
    for key, name in (("j", "turn-0"), ("j", "turn-1"), ("k", "turn-0")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == name


def test_the_switch_is_kept_and_text_stays_readable(origin: str, watched: Watched) -> None:
    page = watched.page
    page.goto(origin)
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(colour)
    assert dark == "rgb(20, 24, 28)"
    page.reload()
    assert page.evaluate(colour) == dark
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_a_page_follows_its_run_to_the_end(origin: str, watched: Watched, folder: Path) -> None:
    page = watched.page
    with writing_to(folder, "a run"):
        page.goto(origin)
        expect(page.locator("tbody").first).to_contain_text("1 of 2")
        page.locator("summary").first.click()
        with RunStore(folder / "run.sqlite") as store:
            store.add(2, METRICS)
        expect(page.locator("tbody").first).to_contain_text("2 of 2", timeout=WAIT_MS)
    expect(page.locator("[data-live-note]")).to_contain_text("The run is over", timeout=WAIT_MS)
    assert page.locator("details").first.evaluate("each => each.open")  # opened details stay open


@pytest.mark.parametrize(
    ("acted", "frame"),
    [
        ((200, 100, 80, 40), (200, 100, 80, 40)),
        ((200, 900, 80, 40), (200, 597, 80, 0)),  # below the visible part: a bar at the lower edge
        ((-90, 100, 80, 40), (3, 100, 0, 40)),
    ],
)
def test_the_acted_element_is_framed_in_the_picture(acted: Box, frame: Box, tmp_path: Path, browser: Browser) -> None:
    seen = turn("A", HALL, "click('1')", image=png(800, 600), acted=acted)
    with served([make_run(tmp_path / "seen", [episode([seen], success=True)])]) as url:
        watched = Watched(browser, url)
        watched.page.goto(f"{url}/runs/1-seen/episodes/1")
        expect(watched.page.locator(".shot img")).to_have_js_property("complete", True, timeout=WAIT_MS)
        picture, mark = (watched.page.locator(f".shot {what}").bounding_box() for what in ("img", "rect"))
        assert picture is not None
        assert mark is not None
        scale = picture["width"] / 800
        assert scale < 1
        assert picture["height"] == pytest.approx(600 * scale)
        x, y, w, h = frame
        edge = 3  # pixels of the frame, around the element
        assert (mark["x"] - picture["x"]) / scale == pytest.approx(x - edge, abs=0.1)
        assert (mark["y"] - picture["y"]) / scale == pytest.approx(y - edge, abs=0.1)
        assert (mark["width"] / scale, mark["height"] / scale) == pytest.approx((w + 2 * edge, h + 2 * edge), abs=0.1)
        watched.close()
        assert watched.faults == []


def test_a_text_is_copied(origin: str, browser: Browser) -> None:
    watched = Watched(browser, origin, permissions=["clipboard-read", "clipboard-write"])
    watched.page.goto(f"{origin}/runs/1-house/episodes/1")
    watched.page.locator("[data-copy=observation-0]").focus()
    watched.page.keyboard.press("Enter")
    expect(watched.page.locator("[data-copy=observation-0]")).to_have_text("Copied")
    assert watched.page.evaluate("navigator.clipboard.readText()") == "A hall."
    watched.close()


@pytest.mark.parametrize("width", [1280, 480])
def test_no_page_is_wider_than_the_screen(width: int, origin: str, browser: Browser) -> None:
    watched = Watched(browser, origin, viewport={"width": width, "height": 800})
    run = "/runs/1-house"
    for path in (
        "/",
        run,
        f"{run}/groups",
        GROUP,
        f"{GROUP}/graph",
        f"{run}/episodes/1",
        f"{run}/credit",
        f"{run}/system",
    ):
        watched.page.goto(origin + path)
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= width, path
    watched.close()


def test_pages_need_no_scripts(origin: str, browser: Browser) -> None:
    watched = Watched(browser, origin, java_script_enabled=False)
    watched.page.goto(f"{origin}{GROUP}/graph")
    watched.page.locator("a.node circle").first.click()
    expect(watched.page.locator("#state h2")).to_contain_text("visits")
    watched.close()
