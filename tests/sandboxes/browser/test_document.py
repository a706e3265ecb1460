"""Time, chance and movement in documents of a real Chromium: the same on a fast and on a slow machine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.responses import HTMLResponse

from cairn.sandboxes.browser.browser import Browser, BrowserConfig
from cairn.sandboxes.browser.page import BrowserPage
from cairn.sandboxes.browser.tab import BEGINNING_MS, STEP_MS
from tests.sandboxes.browser.documents import SHOWS, TICKS, Documents, evaluated, shown

pytestmark = [pytest.mark.rotating(4), pytest.mark.xdist_group("memory")]


def test_the_same_seed_gives_the_same_document_in_a_page_that_others_have_had(browser: Browser) -> None:
    document = SHOWS % "Date.now(), new Date().toISOString(), Math.random(), performance.now()"
    with browser.lease() as page:
        first, other = (shown(browser, page, document, seed=seed) for seed in (5, 6))
        again = shown(browser, page, document, seed=5)
    fresh = Browser(BrowserConfig(width=400, height=300))
    with fresh.lease() as page:
        anew = shown(fresh, page, document, seed=5)
    fresh.close()
    assert first == again == anew != other
    assert first.split()[0] == str(BEGINNING_MS)


CLOCKS = {  # the time of each clock at the start of a document
    "Date.now()": BEGINNING_MS,
    "performance.now()": 0,
    "performance.timeOrigin": BEGINNING_MS,
    "performance.timing.responseEnd": BEGINNING_MS,
    "JSON.parse(JSON.stringify(performance)).timeOrigin": BEGINNING_MS,
    "performance.getEntriesByType('navigation')[0].responseStart": 0,
    "JSON.parse(JSON.stringify(performance.getEntriesByType('navigation')[0])).fetchStart": 0,
    "performance.mark('a').startTime": 0,
    "new Event('a').timeStamp": 0,
    "document.timeline.currentTime": 0,
    "document.lastModified": "03/17/2030 17:46:40",
    "new File([], 'a').lastModified": BEGINNING_MS,
    "new File([], 'a', {lastModified: 5}).lastModified": 5,
    "Intl.DateTimeFormat('de', {timeStyle: 'medium'}).format()": "17:46:40",
    "Intl.DateTimeFormat('de', {timeStyle: 'medium'}).format(0)": "00:00:00",
    "Intl.DateTimeFormat('de').formatToParts().length": 5,
    "window.Temporal ? String(Temporal.Now.instant()) : '2030-03-17T17:46:40Z'": "2030-03-17T17:46:40Z",
    "window.Temporal ? String(Temporal.Now.plainDateISO()) : '2030-03-17'": "2030-03-17",
}


def test_every_clock_of_a_document_begins_at_the_same_moment(browser: Browser, page: BrowserPage) -> None:
    document = f"<script>noted = JSON.stringify([{', '.join(CLOCKS)}])</script>"
    for _ in range(3):
        noted = json.loads(shown(browser, page, document, "noted"))
        for _ in range(20):
            browser.run(page.settle())
        assert dict(zip(CLOCKS, noted, strict=True)) == CLOCKS


def test_every_clock_of_a_document_advances_by_steps_and_not_by_an_agents_thinking_time(
    browser: Browser, page: BrowserPage
) -> None:
    document = """<p id=c>x</p><script>
    performance.mark("first")
    addEventListener("mousedown", event => noted = [
      event.timeStamp, performance.mark("second").startTime, performance.measure("both", "first", "second").duration,
      document.timeline.currentTime, new File([], "a").lastModified - BEGINNING
    ])
    </script>""".replace("BEGINNING", str(BEGINNING_MS))

    async def go() -> Any:  # Any: JSON
        await page.begin({"site": Documents({"/": document})}, "http://site/", 0)
        await asyncio.sleep(0.3)
        await page.tab.mouse("mousePressed", 10, 10, "left", "left", 1)
        await page.settle()
        return await evaluated(page, "noted")

    assert browser.run(go()) == [STEP_MS] * 5


def test_idle_callbacks_run_in_every_step(browser: Browser, page: BrowserPage) -> None:
    document = """<p id=c></p><script>
    requestIdleCallback(left => c.textContent = left.timeRemaining())
    cancelIdleCallback(requestIdleCallback(() => c.textContent += "!"))
    </script>"""
    assert shown(browser, page, document) == "10"


def test_the_document_shows_the_last_modified_header_of_the_answer(browser: Browser, page: BrowserPage) -> None:
    answer = HTMLResponse(SHOWS % "document.lastModified", headers={"Last-Modified": "Mon, 01 Jan 2024 10:00:00 GMT"})

    async def look() -> Any:  # Any: JSON
        await page.begin({"site": answer}, "http://site/", 0)
        return await evaluated(page, "c.textContent")

    assert browser.run(look()) == "01/01/2024 10:00:00"


def test_time_advances_by_the_duration_of_a_step(browser: Browser, page: BrowserPage) -> None:
    assert shown(browser, page, TICKS, f"[ticks, frames_, Date.now() - {BEGINNING_MS}]") == [20, 13, 200]


def test_an_element_with_autofocus_has_the_focus(browser: Browser, page: BrowserPage) -> None:
    assert shown(browser, page, "<input><input autofocus id=wants>", "document.activeElement.id") == "wants"


MOVED = """<style>
p { position: absolute; left: 0; margin: 0; transition: left 3s }
p.moved { left: 90px }
b { display: block; opacity: 0; animation: appear 3s forwards }
@keyframes appear { to { opacity: 1 } }
</style><p id=p>x<b id=b>y</b><script>
noted = new Set()
p.addEventListener("transitionend", () => noted.add("moved"))
p.addEventListener("animationend", () => noted.add("appeared"))
setTimeout(() => p.className = "moved", 10)
</script>"""
INNER = f"""<iframe id=f srcdoc='{MOVED.replace("'", '"')}'></iframe>"""
STILL, _, SCRIPT = MOVED.partition("<script>")
SHADOW = f"""<div id=d><template shadowrootmode=open>{STILL}</template></div><script>
p = d.shadowRoot.querySelector("p"), b = d.shadowRoot.querySelector("b")
{SCRIPT}"""
ADDED = f"""<div id=d></div><script>
d.attachShadow({{mode: "open"}}).innerHTML = `{STILL}`
p = d.shadowRoot.querySelector("p"), b = d.shadowRoot.querySelector("b")
{SCRIPT}"""
UNSTYLED = f"{MOVED}<script>document.adoptedStyleSheets = []</script>"
PLACES = "[p.getBoundingClientRect().x, +getComputedStyle(b).opacity, ...[...noted].sort()]"
AT_THE_END = [90, 1, "appeared", "moved"]
ANIMATED = """<p id=p style="position: absolute; left: 0; top: 0; margin: 0">x</p><script>
noted = []
const moved = p.animate([{left: "0px"}, {left: "90px"}], {duration: 3000, fill: "forwards"})
moved.onfinish = () => noted.push("event")
const faded = () => p.animate([{opacity: 1}, {opacity: 0.5}], {delay: 500, duration: 3000, fill: "forwards"})
moved.finished.then(() => faded().finished).then(() => noted.push("promise"))
p.animate([{top: "0px"}, {top: "90px"}], {duration: 50, iterations: Infinity})
</script>"""
DRAWN = """<svg><rect id=r width=10 height=10>
<animate attributeName=width from=10 to=90 dur=3s fill=freeze onend="noted = 'end'"/>
<animate attributeName=height from=10 to=90 dur=0.05s repeatCount=indefinite /></rect></svg>"""
CHANGED = """<p id=p>x</p><script>noted = []
setTimeout(()=>document.startViewTransition(() => p.textContent = "y").finished.then(() => noted.push("finished")), 10)
addEventListener("unhandledrejection", () => noted.push("rejected"))
</script>"""
SCROLLED = """<body style="height: 5000px"><p id=p style="position: fixed; left: 0; margin: 0">x</p><script>
const timeline = new ScrollTimeline()
p.animate([{left: "0px"}, {left: "100px"}], {timeline, fill: "both"})
setTimeout(() => scrollTo({top: (5000 - innerHeight) / 2, behavior: "smooth"}), 10)
</script>"""


@pytest.mark.parametrize(
    ("document", "expression", "expected"),
    [
        pytest.param(MOVED, PLACES, AT_THE_END, id="by-styles"),
        pytest.param(UNSTYLED, PLACES, AT_THE_END, id="by-styles-with-none-of-ours"),
        pytest.param(INNER, f"f.contentWindow.eval({PLACES!r})", AT_THE_END, id="in-a-frame"),
        pytest.param(SHADOW, PLACES, AT_THE_END, id="in-a-shadow-tree"),
        pytest.param(ADDED, PLACES, AT_THE_END, id="in-a-shadow-tree-of-a-script"),
        pytest.param(
            ANIMATED,
            "[p.getBoundingClientRect().x, p.getBoundingClientRect().y, +getComputedStyle(p).opacity, ...noted.sort()]",
            [90, 0, 0.5, "event", "promise"],
            id="by-scripts",
        ),
        pytest.param(DRAWN, "[r.width.animVal.value, r.height.animVal.value, noted]", [90, 10, "end"], id="drawings"),
        pytest.param(CHANGED, "[p.textContent, ...noted]", ["y", "finished"], id="changes-of-view"),
        pytest.param(SCROLLED, "Math.round(p.getBoundingClientRect().x)", 50, id="by-scrolling-and-not-by-time"),
    ],
)
def test_animations_are_finished_and_their_events_are_delivered_at_the_end_of_a_step(
    browser: Browser, page: BrowserPage, document: str, expression: str, expected: object
) -> None:
    async def look(thinks_s: float) -> Any:  # Any: JSON
        await page.begin({"site": Documents({"/": document})}, "http://site/", 0)
        await asyncio.sleep(thinks_s)
        await page.settle()
        return await evaluated(page, expression)

    assert [browser.run(look(thinks_s)) for thinks_s in (0, 0.4, 0)] == [expected] * 3
