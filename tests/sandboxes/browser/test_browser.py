"""A real Chromium: facts that a page shows its document, limits of documents, and cleanup."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import HTMLResponse

from cairn.core.errors import ConfigError, MissingProgramError, SandboxFailure
from cairn.sandboxes.browser import chromium
from cairn.sandboxes.browser.browser import Browser, BrowserConfig
from cairn.sandboxes.browser.find import find_browser
from cairn.sandboxes.browser.page import MOST_TABS, BrowserPage
from cairn.sandboxes.browser.tab import STEP_MS
from tests.sampling import sampled_params
from tests.sandboxes.browser.documents import SHOWS, TICKS, Documents, evaluated, shown

pytestmark = [pytest.mark.rotating(4), pytest.mark.xdist_group("memory")]


def test_documents_that_were_left_do_not_stay_in_memory(browser: Browser, page: BrowserPage) -> None:
    document = TICKS + "<p id=c>1</p><script>document.fonts.ready.then(() => setTimeout(() => 0, 5000))</script>"

    async def go() -> float:
        for number in range(12):
            host = f"site{number % 3}"  # the next document has another site than the last
            await page.begin({host: Documents({"/": document})}, f"http://{host}/", number)
            await evaluated(page, "document.body.append(c.cloneNode(true))")
            await page.settle()
        await page.tab.send("Performance.enable")
        for _ in range(2):
            await page.tab.send("HeapProfiler.collectGarbage")
        metrics = (await page.tab.send("Performance.getMetrics"))["metrics"]
        return float({metric["name"]: metric["value"] for metric in metrics}["Documents"])

    assert browser.run(go()) <= 2


def test_a_step_waits_for_its_network_requests(browser: Browser, page: BrowserPage) -> None:
    documents = {"/": "<form method=post action=/go><button>Go</button></form>", "/after": "<h1>After</h1>"}

    async def post() -> tuple[str, str]:
        await page.begin({"site": Documents(documents)}, "http://site/", 0)
        await evaluated(page, "document.querySelector('button').click()")
        await page.settle()
        return await evaluated(page, "location.href"), await evaluated(page, "document.body.innerText")

    assert browser.run(post()) == ("http://site/after", "After")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that stands still is looked into after half a second: slow answers take longer, a busy machine less."""
    monkeypatch.setattr("cairn.sandboxes.browser.tab._STUCK_S", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", sampled_params(["location = '/slow'", "setTimeout(() => a.click(), 50)"], parts=2))
def test_a_step_waits_for_a_slow_document(browser: Browser, page: BrowserPage, how: str) -> None:
    documents = {"/": "<a id=a href=/slow>x</a>", "/slow": TICKS}

    async def go() -> list[object]:
        await page.begin({"site": Documents(documents)}, "http://site/", 0)
        await evaluated(page, how)
        await page.settle()
        return [await evaluated(page, each) for each in ("location.pathname", "ticks >= 4")]

    assert browser.run(go()) == ["/slow", True]


@pytest.mark.usefixtures("impatient")
def test_time_that_stopped_without_a_pending_request_is_restarted(
    browser: Browser, page: BrowserPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(browser, page, TICKS, "ticks") >= 20
    send, lost = page.tab.send, list[str]()

    def unheard(method: str, **params: Any) -> Any:  # Any: of Chromium's protocol
        if params.get("policy") == "pauseIfNetworkFetchesPending" and not lost:
            lost.append(method)
            return send("Page.getLayoutMetrics")
        return send(method, **params)

    monkeypatch.setattr(page.tab, "send", unheard)
    browser.run(page.settle())
    assert lost
    assert browser.run(evaluated(page, "ticks")) >= 30  # more, where a busy machine looked as if it stood still again


def test_a_late_answer_without_a_waiting_caller_causes_no_error_of_the_event_loop(
    browser: Browser, page: BrowserPage
) -> None:
    faults: list[Any] = []  # Any: asyncio's contexts

    async def go() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: faults.append(context))
        documents = {"/": "<p>1</p>", "/other": "<p>2</p>"}
        await page.begin({"site": Documents(documents)}, "http://site/", 0)
        forever = {"expression": "new Promise(() => 0)", "awaitPromise": True}
        waiting = asyncio.ensure_future(page.tab.send("Runtime.evaluate", **forever))
        await asyncio.sleep(0.1)
        waiting.cancel()
        await page.tab.go("http://site/other")  # the answer is an error now
        await asyncio.sleep(0.1)
        del waiting
        gc.collect()
        await asyncio.sleep(0)
        loop.set_exception_handler(None)

    browser.run(go())
    assert not faults


def test_work_that_is_due_at_the_end_of_a_step_is_done_before_the_step_ends(
    browser: Browser, page: BrowserPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(browser, page, TICKS, "ticks") == 20
    send, sent = page.tab.send, list[asyncio.Future[Any]]()  # Any: of Chromium's protocol

    async def too_soon(method: str, **params: Any) -> Any:  # Any: of Chromium's protocol
        if params.get("budget") != 1:
            return await send(method, **params)
        sent.append(asyncio.ensure_future(send(method, **params)))
        page.tab._rested.set()
        return {}

    monkeypatch.setattr(page.tab, "send", too_soon)
    assert [shown(browser, page, TICKS, "ticks") for _ in range(20)] == [20] * 20


@pytest.mark.parametrize("picture", ["", "<img src=/p.svg>"])
def test_a_script_is_run_once_the_first_document_has_loaded(browser: Browser, page: BrowserPage, picture: str) -> None:
    documents = {"/": f"<p id=c></p>{picture}", "/other": "<p id=c></p>"}
    script = "c.textContent += [document.readyState, document.images.length && document.images[0].width].join(' ')"

    async def go() -> list[object]:
        await page.begin({"site": Documents(documents)}, "http://site/", 0, script)
        found = await evaluated(page, "c.textContent")
        await page.tab.go("http://site/other")
        return [found, await evaluated(page, "c.textContent")]

    assert browser.run(go()) == ["complete 31" if picture else "complete 0", ""]


def test_a_called_script_sees_the_shown_document_and_is_invisible_to_it(browser: Browser, page: BrowserPage) -> None:
    sites = {name: Documents({"/": f"<p>{name}</p><script>mine = 1</script>"}) for name in ("one", "two")}
    script = "globalThis.count ??= 0; globalThis.mine = 2; var text = () => [document.body.innerText, ++count, mine]"

    async def go() -> list[object]:
        await page.begin(sites, "http://one/", 0)
        found = [await page.tab.call(script, "text()") for _ in range(2)]
        for url in ("http://two/", "http://one/"):
            await page.tab.go(url)
            found.append(await page.tab.call(script, "text()"))
        return [*found, await page.tab.call("", "undefined"), await evaluated(page, "[window.count ?? 0, mine]")]

    assert browser.run(go()) == [["one", 1, 2], ["one", 2, 2], ["two", 1, 2], ["one", 1, 2], None, [0, 1]]


def test_nothing_of_a_lease_is_left_for_the_next(browser: Browser, page: BrowserPage) -> None:
    document = SHOWS % "localStorage.x, sessionStorage.x, document.cookie, window.name, history.length"
    document += """<script>localStorage.x = sessionStorage.x = 1; document.cookie = 'a=b'; window.name = 'left';
        history.pushState(1, '')</script>"""
    assert [shown(browser, page, document) for _ in range(3)] == ["    2"] * 3


class Kept:
    """A site with one document, which never changes: each needs a name of its own, as browsers keep it."""

    def __init__(self, document: str) -> None:
        self._document, self.num_asked = document, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's
        self.num_asked += 1
        await HTMLResponse(self._document, headers={"Cache-Control": "max-age=999, immutable"})(scope, receive, send)


def test_cached_documents_leave_nothing_behind(browser: Browser, page: BrowserPage) -> None:
    site = Kept(f"""{SHOWS % "localStorage.x, sessionStorage.x, document.cookie"}<script>
        localStorage.x = sessionStorage.x = 1; document.cookie = 'a=b';
        indexedDB.databases().then(found => {{ c.textContent += found.length; indexedDB.open('d') }})</script>""")

    async def look(seed: int) -> str:
        await page.begin({"cached": site}, "http://cached/", seed)
        for _ in range(20):
            if len(reported := str(await evaluated(page, "c.textContent"))) > 2:
                return reported
            await page.settle()
        return reported

    assert [browser.run(look(seed)) for seed in range(4)] == ["  0"] * 4
    assert site.num_asked == 1


def test_no_cookie_is_left_for_sites_of_the_same_domain(browser: Browser, page: BrowserPage) -> None:
    document = SHOWS % "document.cookie" + "<script>document.cookie = 'a=b; domain=left.example'</script>"

    async def look(host: str) -> list[str]:
        await page.begin({host: Documents({"/": document})}, f"http://{host}/", 0)
        return [str(await evaluated(page, what)) for what in ("c.textContent", "document.cookie")]

    assert [browser.run(look(f"{name}.left.example")) for name in ("one", "two")] == [["", "a=b"]] * 2


def test_nothing_is_left_by_tabs_that_documents_open(browser: Browser, page: BrowserPage) -> None:
    site = Kept(f"{SHOWS % 'localStorage.x'}<script>localStorage.x = 1</script>")
    opener = Documents({"/": "<button onclick=\"window.open('http://again/')\" style='position: fixed; inset: 0'>"})

    async def go() -> list[str]:
        found = []
        for url in ("http://again/", "http://opens/", "http://again/"):
            await page.begin({"again": site, "opens": opener}, url, 0)
            if "opens" in url:
                await click(page)
                await page.settle()
            found.append(str(await evaluated(page, "c.textContent")))
        return found

    assert browser.run(go()) == ["", "", ""]
    assert site.num_asked == 1


def test_cached_pages_of_a_site_are_not_shown_when_the_site_is_missing(browser: Browser, page: BrowserPage) -> None:
    site = Kept("<p id=c>kept<script src=http://other/></script>")

    async def look(sites: Mapping[str, Any]) -> tuple[str, list[str]]:  # Any: ASGI applications
        await page.begin(sites, "http://other/", 0)
        await page.tab.go("http://elsewhere/")
        return str(await evaluated(page, "document.body.textContent")), page.gate.refused

    async def go() -> list[tuple[str, list[str]]]:
        sites = {"elsewhere": site, "other": Documents({})}
        return [await look(sites), await look({"other": Documents({})}), await look(sites)]

    refused = ("This address cannot be reached from here.", ["GET http://elsewhere/"])
    assert browser.run(go()) == [("kept", []), refused, ("kept", [])]
    assert site.num_asked == 2


async def click(page: BrowserPage, x: float = 50, y: float = 50) -> None:
    await page.tab.move(x, y)
    await page.tab.mouse("mousePressed", x, y, "left", "left", 1)
    await page.tab.mouse("mouseReleased", x, y, "left", count=1)


BUTTON = "<p id=c></p><button id=b style='position: fixed; inset: 0'></button><script>%s</script>"


def test_timers_of_a_click_fire_at_their_time(browser: Browser, page: BrowserPage) -> None:
    document = (
        BUTTON
        % """b.onclick = () => {
        const began = performance.now(), tell = what => () => { c.textContent += what + (performance.now() - began) };
        for (const ms of [1, 7, 30]) setTimeout(tell(" timer "), ms);
        requestAnimationFrame(tell(" frame ")) }"""
    )

    async def go() -> str:
        await page.begin({"site": Documents({"/": document})}, "http://site/", 0)
        await click(page)
        await page.settle()
        return str(await evaluated(page, "c.textContent"))

    assert [browser.run(go()) for _ in range(4)] == [" timer 1 timer 7 frame 16 timer 30"] * 4


SHOWS_OTHER = """<style>#c:hover { width: 77px }</style><script>
    moves = 0; onmousemove = () => moves++;
    show = () => { b.remove(); c.style = "position: fixed; inset: 0"; c.onmouseenter = () => c.textContent += "in" };
    b.onclick = () => WHEN</script>"""


@pytest.mark.parametrize("when", ["show()", "setTimeout(show, 60)"])
def test_an_element_that_moves_under_the_mouse_gets_events_by_the_end_of_the_step(
    browser: Browser, page: BrowserPage, when: str
) -> None:
    document = BUTTON % "" + SHOWS_OTHER.replace("WHEN", when)

    async def go() -> list[object]:
        await page.begin({"site": Documents({"/": document})}, "http://site/", 0)
        await click(page)
        await page.settle()
        await page.settle()
        return list(await evaluated(page, "[c.textContent, getComputedStyle(c).width, moves]"))

    assert [browser.run(go()) for _ in range(4)] == [["in", "77px", 1]] * 4


HEARS = """<p id=c style="position: fixed; inset: 0; margin: 0"></p><script>for (const type of ["pointerover",
"mouseover", "mouseenter", "pointermove", "mousemove"]) c.addEventListener(type, event => c.textContent += type + " ")
</script>"""


def test_a_document_of_another_site_gets_no_mouse_event_at_its_start(browser: Browser, page: BrowserPage) -> None:
    """Chromium gives another site another view, and moves the mouse there by itself."""

    async def go(host: str) -> str:
        await page.begin({host: Documents({"/": HEARS})}, f"http://{host}/", 0)
        await page.settle()
        return str(await evaluated(page, "c.textContent"))

    assert [browser.run(go(f"site{number % 2}")) for number in range(4)] == [""] * 4


FIELD = "<input id=a value=%s autofocus><script>reported = [];%s</script>"
TELLS = """for (const type of ["copy", "cut", "paste"]) document.addEventListener(type, event => {
  reported.push(type + event.clipboardData.getData("text/plain")) })"""


async def pressed(page: BrowserPage, *keys: str) -> str:
    for key in keys:
        await page.tab.driven.keyboard.press(f"Control+{key}")
    await page.settle()
    return str(await evaluated(page, "a.value"))


def test_each_page_has_a_clipboard_of_its_own(browser: Browser, page: BrowserPage) -> None:
    sites = {name: Documents({"/": FIELD % (name, TELLS)}) for name in ("mine", "yours")}

    async def go() -> list[object]:
        await page.begin(sites, "http://mine/", 0)
        found: list[object] = [await pressed(page, "a", "c"), await pressed(page, "v", "v")]
        found += [await pressed(page, "a", "x"), page.clipboard.text, await evaluated(page, "reported")]
        await page.tab.go("http://yours/")
        found += [await pressed(page, "a", "v"), await evaluated(page, "reported")]
        await other.begin(sites, "http://yours/", 0)
        found += [await pressed(other, "v"), await evaluated(other, "reported")]
        await page.begin(sites, "http://mine/", 0)
        return [*found, await pressed(page, "v")]

    with browser.lease() as other:
        assert browser.run(go()) == [
            "mine", "minemine", "", "minemine", ["copy", "pastemine", "pastemine", "cut"],
            "minemine", ["pasteminemine"],
            "yours", ["paste"],
            "mine",
        ]  # fmt: skip


def test_documents_may_change_the_copied_text_and_reject_a_paste(browser: Browser, page: BrowserPage) -> None:
    document = FIELD % (
        "x",
        """
    a.oncopy = event => { event.clipboardData.setData("text/plain", "chosen"); event.preventDefault() };
    a.onpaste = event => { reported.push(event.clipboardData.getData("text/plain")); event.preventDefault() }""",
    )

    async def go() -> list[object]:
        await page.begin({"site": Documents({"/": document})}, "http://site/", 0)
        return [
            await pressed(page, "a", "c"),
            page.clipboard.text,
            await pressed(page, "v"),
            await evaluated(page, "reported"),
        ]

    assert browser.run(go()) == ["x", "chosen", "x", ["chosen"]]


def test_text_copied_in_a_frame_is_pasted_outside_it(browser: Browser, page: BrowserPage) -> None:
    documents = {"/": "<iframe id=f src=/in></iframe><input id=a>", "/in": FIELD % ("within", "")}

    async def go() -> str:
        await page.begin({"site": Documents(documents)}, "http://site/", 0)
        await evaluated(page, "f.contentWindow.focus(); f.contentDocument.querySelector('input').focus()")
        await pressed(page, "a", "c")
        await evaluated(page, "a.focus()")
        return await pressed(page, "v")

    assert browser.run(go()) == "within"


@pytest.mark.parametrize(("header", "seen"), [("max-age=999", "123"), ("max-age=999, immutable", "111"), (None, "123")])
def test_answers_are_kept_beyond_a_lease_only_if_they_never_change(
    browser: Browser, page: BrowserPage, header: str | None, seen: str
) -> None:
    asked = list[str]()

    async def site(scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's
        asked.append(scope["path"])
        answer = HTMLResponse(f"<p id=c>{len(asked)}", headers={"Cache-Control": header} if header else None)
        await answer(scope, receive, send)

    async def look(seed: int) -> str:
        await page.begin({"site": site}, f"http://site/{header}", seed)
        return str(await evaluated(page, "c.textContent"))

    assert "".join(browser.run(look(seed)) for seed in range(3)) == seen


def test_only_addresses_of_the_sites_are_reachable_and_other_requests_are_reported(
    browser: Browser, page: BrowserPage
) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        port = server.getsockname()[1]
        document = f"""<img src="http://127.0.0.1:{port}/a"><img src="http://localhost:{port}/b"><script>
        fetch("http://[::1]:{port}/c").catch(() => 0); new WebSocket("ws://127.0.0.1:{port}/");
        setTimeout(() => location = "http://127.0.0.1:{port}/d", 10)</script>"""
        text = shown(browser, page, document, "document.body.innerText")
        with pytest.raises(TimeoutError):
            server.accept()
    assert text == "This address cannot be reached from here."
    assert {f"GET http://127.0.0.1:{port}/a", f"GET http://localhost:{port}/b"} <= set(page.gate.refused)
    assert page.gate.num_refused >= 4


@pytest.mark.parametrize(
    ("document", "notice"),
    [
        ("<a id=a href='data:application/octet-stream,x' download=x>x</a><script>a.click()</script>", "a download of"),
        ("<script>setTimeout(() => { for (;;) alert('more') })</script>", "dialogs without an end"),
        ("<script>confirm('sure?') || (document.title = 'declined')</script>", "confirm: sure?"),
    ],
)
def test_refused_requests_and_closed_dialogs_are_noted(
    browser: Browser, page: BrowserPage, document: str, notice: str
) -> None:
    shown(browser, page, document, "1")
    assert notice in " ".join(page.notices)


def test_documents_open_no_tabs_by_themselves_and_few_when_clicked(browser: Browser, page: BrowserPage) -> None:
    storm = "<button style='position:fixed;inset:0'>x</button><script>"
    storm += "many = () => { for (let i = 0; i < 12; i++) window.open('/' + i) }; many();"
    storm += "document.querySelector('button').onclick = many</script>"
    assert shown(browser, page, storm, "1") == 1
    assert len(page.tabs) == 1

    async def go() -> None:
        await click(page)
        await page.settle()

    browser.run(go())
    assert 1 < len(page.tabs) <= MOST_TABS


@pytest.mark.parametrize("is_late", [False, True])
def test_tabs_that_no_step_has_adopted_are_not_in_the_next_lease(
    browser: Browser, page: BrowserPage, is_late: bool
) -> None:
    opener, opened = "<button onclick='window.open()' style='position: fixed; inset: 0'>", page._opened

    async def tell(driven: Any) -> None:  # Any: Playwright's page
        await asyncio.sleep(0.5)
        opened(driven)

    if is_late:
        page.leases = browser.config.leases  # nobody has it after us
        page.context.remove_listener("page", page._opened)
        page.context.on("page", lambda driven: asyncio.ensure_future(tell(driven)))

    async def go() -> int:
        await page.begin({"site": Documents({"/": opener})}, "http://site/", 0)
        await click(page)
        await page.begin({"site": Documents({})}, "http://site/", 0)
        await page.settle()
        return len(page.tabs)

    assert browser.run(go()) == 1
    assert page.notices == []


def test_the_mouse_is_nowhere_when_a_page_begins(browser: Browser, page: BrowserPage) -> None:
    document = "<style>body { height: 300px } body:hover { color: rgb(1, 2, 3) }</style>"
    colour = "getComputedStyle(document.body).color"
    assert shown(browser, page, document, colour) == "rgb(0, 0, 0)"
    browser.run(page.tab.move(50, 50))
    assert browser.run(page.tab.driven.evaluate(colour)) == "rgb(1, 2, 3)"
    assert shown(browser, page, document, colour) == "rgb(0, 0, 0)"


def test_pictures_that_only_a_style_asks_for_are_there_when_a_step_ends(browser: Browser, page: BrowserPage) -> None:
    document = "<script>setTimeout(() => { document.body.innerHTML = `<b id=b style='content:url(/p.svg)'></b>` }, 50)"
    document += "</script>"
    assert shown(browser, page, document, "b.getBoundingClientRect().width") == 31


SCROLLS = "<p style='height: 3000px'></p><script>onscroll = () => document.title = scrollY</script>"


def scrolled(browser: Browser) -> tuple[str, bytes]:
    """Return the scroll events that a document received long after its start, and its picture."""

    async def go(page: BrowserPage) -> tuple[str, bytes]:
        await page.tab.call("", "scrollBy(0, 70)")
        await page.settle()
        return str(await evaluated(page, "document.title")), await page.tab.picture()

    with browser.lease() as page:
        shown(browser, page, SCROLLS, "1")
        time.sleep(1)
        return browser.run(go(page))


def test_without_begin_frame_control_events_and_pictures_are_the_same(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Chromiums with a window do: here the shell, without that setting, whose frames wait for nobody."""
    arguments = [each for each in chromium._ARGUMENTS if each != "--enable-begin-frame-control"]
    other = Browser(BrowserConfig(width=400, height=300))
    with monkeypatch.context() as patched:
        patched.setattr(chromium, "_ARGUMENTS", arguments)
        patched.setattr("cairn.sandboxes.browser.frames._MAKE", "HeadlessExperimental.unknown")
        found = scrolled(other)
    other.close()
    assert found == scrolled(browser)
    assert found[0] == "70"
    assert found[1].startswith(b"\x89PNG")


def test_a_picture_of_a_document_that_leaves_as_a_step_ends_is_of_the_next_one(
    browser: Browser, page: BrowserPage
) -> None:
    async def go() -> tuple[str, bytes]:
        documents = {"/": f"<script>setTimeout(() => location = '/next', {STEP_MS})</script>", "/next": "<p>Next</p>"}
        await page.begin({"site": Documents(documents)}, "http://site/", 0)
        return page.tab.driven.url, await page.tab.picture()

    url, picture = browser.run(go())
    assert url == "http://site/next"
    assert picture.startswith(b"\x89PNG")


def test_links_that_a_document_clicks_itself_open_no_tabs(browser: Browser, page: BrowserPage) -> None:
    storm = "<a id=a target=_blank href=/b>x</a><script>for (let i = 0; i < 10; i++) a.click()</script>"
    assert shown(browser, page, storm, "1") == 1
    browser.run(page.settle())
    assert len(page.tabs) == 1
    assert page.notices.count("refused: a tab without a click") == 10
    assert shown(browser, page, SHOWS % 7) == "7"


def test_files_are_not_shown(browser: Browser, page: BrowserPage) -> None:
    document = "<script>location = 'file:///etc/passwd'</script>"
    assert shown(browser, page, document, "location.href") == "http://site/"


def test_no_service_worker_is_kept(browser: Browser, page: BrowserPage) -> None:
    asked = list[str]()
    script = "navigator.serviceWorker.register('/worker').then(() => document.title += '!')"

    async def site(scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's
        asked.append(scope["path"])
        document, kind = ("", "text/javascript") if scope["path"] == "/worker" else (f"<script>{script}</script>", None)
        await HTMLResponse(document, media_type=kind)(scope, receive, send)

    async def go() -> object:
        await page.begin({"localhost": site}, "http://localhost/", 0)  # the API needs a secure context
        await page.settle()
        return await evaluated(page, "isSecureContext && 'serviceWorker' in navigator")

    assert browser.run(go())
    assert asked == ["/"]


@pytest.mark.parametrize("when", [0, 150])
def test_an_empty_tab_replaces_the_last_tab_when_it_is_closed(browser: Browser, page: BrowserPage, when: int) -> None:
    document = f"<script>setTimeout(() => {{ for (;;) alert('more') }}, {when})</script>"
    assert shown(browser, page, document, "location.href") == "about:blank"
    assert shown(browser, page, SHOWS % 6) == "6"


def test_a_document_of_fifty_thousand_elements_is_shown(browser: Browser, page: BrowserPage) -> None:
    document = "<div id=d></div><script>d.innerHTML = '<p>x</p>'.repeat(50_000)</script>"
    assert shown(browser, page, document, "document.querySelectorAll('p').length") == 50_000


def test_a_page_that_hangs_or_crashes_fails_by_itself_and_the_next_one_is_well(browser: Browser) -> None:
    impatient = Browser(BrowserConfig(step_s=2))
    page = impatient.take()
    with pytest.raises(SandboxFailure, match="hangs"):
        shown(impatient, page, "<script>setTimeout(() => { for (;;); })</script>", "1")
    impatient.give_back(page, is_well=False)
    page = impatient.take()
    shown(impatient, page, "", "1")
    with pytest.raises(SandboxFailure, match="crashed"):
        impatient.run(page.tab.send("Page.crash"))
    impatient.give_back(page, is_well=False)
    with impatient.lease() as page:
        assert shown(impatient, page, SHOWS % 7) == "7"
    assert impatient.replaced == 2
    impatient.close()


@pytest.fixture(scope="module")
def tight() -> BrowserConfig:
    """Return settings with 32 MiB more than a new browser takes; less than users may set."""
    new = Browser(BrowserConfig())
    with new.lease() as page:
        shown(new, page, "", "1")
        taken = new.memory_bytes()
    new.close()
    return BrowserConfig().model_copy(update={"memory_bytes": taken + (32 << 20)})


@pytest.fixture
def _little_for_each_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.sandboxes.browser.browser._PAGE_BYTES", 16 << 20)


def eat(browser: Browser, page: BrowserPage) -> None:
    eats = "a = []; for (let i = 0; i < 14; i++) a.push(new Uint8Array(1 << 23).fill(i)); a.length"
    assert browser.run(evaluated(page, eats)) == 14


@pytest.mark.usefixtures("_little_for_each_page")
def test_a_browser_that_is_killed_or_has_grown_too_large_is_replaced(tight: BrowserConfig) -> None:
    browser = Browser(tight)
    with browser.lease() as page:
        shown(browser, page, "", "1")
        eat(browser, page)
        assert browser.memory_bytes() > tight.memory_bytes
    with browser.lease() as page:
        assert shown(browser, page, SHOWS % 8) == "8"
        assert browser.memory_bytes() < tight.memory_bytes
    assert browser.replaced == 1
    browser.close()


@pytest.mark.usefixtures("_little_for_each_page")
def test_a_browser_that_has_grown_while_its_pages_are_leased_ends_with_the_last_of_them(
    tight: BrowserConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.sandboxes.browser.browser._LOOK_S", 0)
    browser = Browser(tight)
    first, second = browser.take(), browser.take()
    old = first.context.browser
    assert old is not None
    shown(browser, first, "", "1")
    assert [browser.has(page) for page in (first, second)] == [True, True]
    eat(browser, first)
    assert [browser.has(page) for page in (first, second)] == [False, False]
    browser.give_back(first)
    third = browser.take()
    assert shown(browser, second, SHOWS % 8) == shown(browser, third, SHOWS % 8) == "8"
    assert browser.has(third)
    assert third.context.browser is not old
    assert old.is_connected()
    browser.give_back(second)
    assert not old.is_connected()
    assert browser.replaced == 1
    browser.close()


def test_pages_returned_after_their_browser_was_closed_are_dropped() -> None:
    browser = Browser(BrowserConfig(width=400, height=300))
    page = browser.take()
    browser.close()
    browser.give_back(page)
    with browser.lease() as page:
        assert shown(browser, page, SHOWS % 9) == "9"
    browser.close()


def test_pages_of_several_threads_do_not_wait_for_each_other(browser: Browser) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's
        is_asked.set()
        await asyncio.to_thread(may_answer.wait)
        await HTMLResponse(SHOWS % 1)(scope, receive, send)

    def wait() -> None:
        with browser.lease() as page:
            browser.run(page.begin({"site": slow}, "http://site/", 0))
            found.append(browser.run(evaluated(page, "c.textContent")))

    def work() -> None:
        with browser.lease() as page:
            found.append(shown(browser, page, SHOWS % 2))

    found = list[str]()
    waiting = threading.Thread(target=wait)
    waiting.start()
    try:
        assert is_asked.wait(10)
        assert in_time(work)
    finally:
        may_answer.set()
        waiting.join()
    assert found == ["2", "1"]


def in_time(work: Callable[[], object]) -> bool:
    """Return whether something waits for nobody."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()


def test_a_page_can_be_released_from_any_thread_of_the_garbage_collector(browser: Browser) -> None:
    page = browser.take()
    with browser._lock:
        assert in_time(lambda: browser.let_go(page))
    with browser.lease() as again:
        assert again is page


def test_a_page_that_is_slow_to_close_blocks_no_other_page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, other = browser.take(), browser.take()
    is_closing, may_end, close = threading.Event(), threading.Event(), slow.close

    async def slowly() -> None:
        is_closing.set()
        await asyncio.to_thread(may_end.wait)
        await close()

    monkeypatch.setattr(slow, "close", slowly)
    closing = threading.Thread(target=lambda: browser.give_back(slow, is_well=False))
    closing.start()
    try:
        assert is_closing.wait(5)
        assert in_time(lambda: browser.has(other))
    finally:
        may_end.set()
        closing.join()
    browser.give_back(other)


def test_the_error_of_a_missing_browser_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="'/no/such' is not a program"):
        find_browser("/no/such")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nowhere")
    with pytest.raises(MissingProgramError, match="apt-get install chromium-headless-shell"):
        find_browser()


def written(path: Path, script: str) -> str:
    """Return the path of a program."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("line", "kind", "reported"),
    [
        ("x: error while loading shared libraries: liby.so", MissingProgramError, "liby.so.* playwright install-deps"),
        ("No usable sandbox! If this is a Debian system", ConfigError, "No usable sandbox!.* chromium_sandbox to"),
        ("something else", SandboxFailure, "does not start: something else"),
    ],
)
def test_the_error_of_a_browser_that_does_not_start_names_the_cause(
    tmp_path: Path, line: str, kind: type[Exception], reported: str
) -> None:
    path = written(tmp_path / "chrome", f"echo '{line}' >&2; exit 1")
    browser = Browser(BrowserConfig(path=path))
    with pytest.raises(kind, match=reported):
        browser.take()
    browser.close()


@pytest.mark.parametrize(
    ("user", "setting", "is_off"), [(0, None, True), (1000, None, False), (0, True, False), (1000, False, True)]
)
def test_chromium_has_its_sandbox_if_enabled_or_if_the_process_is_not_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, setting: bool | None, is_off: bool
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    path = written(tmp_path / "chrome", f"echo $@ > {tmp_path}/given; exit 1")
    browser = Browser(BrowserConfig(path=path, chromium_sandbox=setting))
    with pytest.raises(SandboxFailure):
        browser.take()
    browser.close()
    assert ("--no-sandbox" in (tmp_path / "given").read_text().split()) == is_off


def children() -> set[int]:
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def test_a_browser_is_started_again_when_the_process_that_drives_it_has_died(browser: Browser) -> None:
    before = children()
    made = Browser(BrowserConfig(width=400, height=300))
    page = made.take()
    for pid in children() - before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxFailure):
        shown(made, page, "", "1")
    made.give_back(page, is_well=False)
    with made.lease() as page:
        assert shown(made, page, SHOWS % 3) == "3"
    made.close()


def test_the_headless_shell_is_taken_before_a_whole_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def there(name: str) -> str:
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch()
        program.chmod(0o755)
        return str(program)

    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "own"))
    for name in (
        "bin/google-chrome",
        "bin/chromium",
        "bin/chromium-headless-shell",
        "own/chromium-1200/chrome-linux64/chrome",
        "own/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell",
    ):
        expected = there(name)
        assert find_browser() == expected
