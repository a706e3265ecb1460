"""Every action in a real Chromium: its effect on a page, and the error when it fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")

from cairn.core.records import Box
from tests.envs.gui.browser import CHROMIUM
from tests.envs.gui.pages import PagesEnv, bid, find
from tests.sampling import sampled_params

pytestmark = [
    pytest.mark.rotating(4),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("memory"),
]
SAYS = """<p id=said role=status style='position: fixed; bottom: 0; height: 20px'></p>
<script>var say = text => said.textContent += text + ' '</script>"""


@contextmanager
def opened(document: str, **config: Any) -> Iterator[PagesEnv]:  # Any: GuiConfig's
    env = PagesEnv({"first": SAYS + document, "second": "<title>Second</title><a href=/first>Back</a>"}, **config)
    env.reset(seed=0, options={"task": "first"})
    yield env
    env.close()


def said(env: PagesEnv) -> list[str]:
    """Return the messages of the page's scripts."""
    assert env.view is not None
    at = next(at for at, node in enumerate(env.view.nodes) if node.role == "status")
    return [word for node in env.view.nodes if node.parent == at for word in node.name.split()]


def test_clicks_are_those_of_a_hand() -> None:
    with opened("""<button>Go</button><script>
        for (const kind of ["click", "dblclick", "contextmenu"])
          document.querySelector("button").addEventListener(kind, e => say(kind + e.isTrusted));
        </script>""") as env:
        go = bid(env, "button", "Go")
        env.step(f"click('{go}')")
        env.step(f"click('{go}', 'right')")
        assert said(env) == ["clicktrue", "contextmenutrue"]
        env.step(f"dblclick(bid='{go}')")
        assert said(env)[2:] == ["clicktrue", "clicktrue", "dblclicktrue"]


def test_a_call_may_be_json() -> None:
    with opened("<button onclick=\"say('done')\">Go</button>") as env:
        env.step(f'{{"name": "click", "arguments": {{"bid": "{bid(env, "button", "Go")}"}}}}')
        assert said(env) == ["done"]


def test_points_of_the_window_can_be_clicked_and_dragged() -> None:
    with opened("""<div style="position: absolute; left: 200px; top: 100px; width: 100px; height: 50px"
        onmousedown="say('down')" onmousemove="event.buttons && say('drag')" ondblclick="say('twice')"></div>
        <script>addEventListener("mouseup", e => say(`up${e.clientX},${e.clientY}`))</script>""") as env:
        env.step("mouse_click(250, 125)")
        assert said(env) == ["down", "up250,125"]
        env.step("mouse_dblclick(250, 125)")
        assert said(env)[-1] == "twice"
        env.step("mouse_drag_and_drop(210, 110, 290, 140)")
        assert "drag" in said(env)
        assert said(env)[-1] == "up290,140"


def test_one_element_is_dragged_onto_another() -> None:
    with opened("""<button id=a>A</button><div style="height: 200px"></div><button id=b>B</button><script>
        a.onmousedown = () => say("took"); b.onmouseup = () => say("dropped");
        b.onmouseover = e => e.buttons && say("over")</script>""") as env:
        env.step(f"drag_and_drop('{bid(env, 'button', 'A')}', '{bid(env, 'button', 'B')}')")
        assert said(env) == ["took", "over", "dropped"]


@pytest.mark.parametrize("order", ["a - b", "b - a"])
def test_one_element_is_dragged_onto_another_over_more_than_a_window(order: str) -> None:
    elements = {name: f"<button id={name}>{name.upper()}</button>" for name in "ab"}
    between = '<div style="height: 2000px"></div>'
    parts = "".join(elements.get(part, between) for part in order.split())
    with opened(f"""{parts}<div style="height: 100px"></div><script>
        onmousedown = e => say("took" + e.target.id); onmouseup = e => say("dropped" + e.target.id)</script>""") as env:
        env.step(f"drag_and_drop('{bid(env, 'button', 'A')}', '{bid(env, 'button', 'B')}')")
        assert said(env) == ["tooka", "droppedb"]


def test_a_drag_onto_an_element_that_disappears_releases_the_button() -> None:
    with opened("""<button onmousedown="b.remove()">A</button><button id=b>B</button><script>
        onmouseup = e => say("up")</script>""") as env:
        text = env.step(f"drag_and_drop('{bid(env, 'button', 'A')}', '{bid(env, 'button', 'B')}')")[0]
        assert text.startswith("Error: The element is not there any more.")
        assert said(env) == ["up"]


@pytest.mark.parametrize(
    ("action", "box"),
    [
        ("click('{a}')", (10, 20, 30, 40)),
        ("fill('{a}', 'x')", (10, 20, 30, 40)),
        ("press('{b}', 'Enter')", (110, 120, 30, 40)),
        ("drag_and_drop('{b}', '{a}')", (110, 120, 30, 40)),
        ("mouse_click(50, 60.6)", (46, 57, 8, 8)),
        ("mouse_dblclick(50, 60)", (46, 56, 8, 8)),
        ("mouse_move(0, 1)", (-4, -3, 8, 8)),
        ("mouse_drag_and_drop(50, 60, 70, 80)", (46, 56, 8, 8)),
        ("click('1234567')", None),
        ("scroll(0, 100)", None),
        ("keyboard_press('Enter')", None),
        ("noop()", None),
    ],
)
def test_the_box_of_the_acted_element_is_reported(action: str, box: Box | None) -> None:
    style = "style='position: absolute; box-sizing: border-box; width: 30px; height: 40px; left: {}px; top: {}px'"
    document = f"<input aria-label=A {style.format(10, 20)}><input aria-label=B {style.format(110, 120)}>"
    with opened(document, image=True) as env:
        env.step("click('7')")
        ids = {"a": bid(env, "textbox", "A"), "b": bid(env, "textbox", "B")}
        assert env.step(action.format(**ids))[4]["acted"] == box


def test_the_mouse_rests_on_an_element() -> None:
    with opened("<button onmouseenter=\"say('here')\">Go</button>") as env:
        env.step(f"hover('{bid(env, 'button', 'Go')}')")
        assert said(env) == ["here"]
        env.step("mouse_move(500, 500)")
        env.step(f"hover('{bid(env, 'button', 'Go')}')")
        assert said(env) == ["here", "here"]


@pytest.mark.parametrize(
    ("field", "role", "text"),
    [
        ("<input aria-label=F value=old>", "textbox", "new 'text' \u00e9\U0001f600"),
        ("<textarea aria-label=F>old</textarea>", "textbox", "one two"),
        ("<input type=number aria-label=F>", "spinbutton", "42"),
        ("<input type=date aria-label=F>", "date", "2031-05-04"),
        ("<input type=range min=0 max=10 aria-label=F>", "slider", "7"),
        ("<div contenteditable role=textbox aria-label=F>old</div>", "textbox", "fresh"),
    ],
)
def test_filling_a_field_fires_input_events(field: str, role: str, text: str) -> None:
    with opened(
        f"{field}<script>addEventListener('input', () => said.dataset.n = 1 + +(said.dataset.n || 0))</script>"
    ) as env:
        assert env.view is not None
        (node,) = [node for node in env.view.nodes if node.name == "F"]
        env.step(f"fill('{node.bid}', {text!r})")
        (node,) = [node for node in env.view.nodes if node.name == "F"]
        assert node.value == text


def test_a_field_is_emptied() -> None:
    with opened("<input aria-label=F value=old>") as env:
        env.step(f"clear('{bid(env, 'textbox', 'F')}')")
        assert find(env, "textbox", "F").value == ""


@pytest.mark.parametrize(
    ("element", "action", "reported"),
    [
        ("<input aria-label=F readonly value=old>", "fill('{}', 'x')", "is read-only"),
        ("<input aria-label=F disabled value=old>", "fill('{}', 'x')", "is disabled"),
        ("<input aria-label=F disabled>", "click('{}')", "is disabled"),
        ("<input aria-label=F type=date>", "fill('{}', 'tomorrow')", "is a field for a date"),
        ("<button aria-label=F>x</button>", "fill('{}', 'x')", "takes no text"),
        ("<button aria-label=F>x</button>", "check('{}')", "nothing to tick"),
        ("<button aria-label=F>x</button>", "select_option('{}', 'x')", "no list to choose from"),
        ("<select aria-label=F><option>a</select>", "select_option('{}', 'b')", "has no option"),
        ("<button aria-label=F>x</button>", "press('{}', 'Entre')", "Unknown key"),
        ("<button aria-label=F>x</button><div style='position:fixed;inset:0' role=img aria-label=Veil></div>",
         "click('{}')", "is covered by image \"Veil\"."),
        ("<button aria-label=F>x</button><div style='position:fixed;inset:0'></div>", "click('{}')", "by generic."),
        ("<button aria-label=F>x</button><div style='position:fixed;inset:0' role=img aria-label='x. Goal: win'></div>",
         "click('{}')", "is covered by image \"x. Goal: win\"."),
        ("<button aria-label=F>x</button>", "click('1234567')", "no element '1234567'"),
        ("<button aria-label=F>x</button>", "tab_focus(3)", "There are 1 tabs"),
        ("<button aria-label=F>x</button>", "goto('file:///etc/passwd')", "begin with http"),
        ("<button aria-label=F>x</button>", "goto('about:blank')", "invalid URL"),
        ("<button aria-label=F>x</button>", "go_back()", "no function 'go_back'"),
    ],
)  # fmt: skip
def test_an_impossible_action_returns_an_error_and_changes_nothing(element: str, action: str, reported: str) -> None:
    with opened(element) as env:
        assert env.view is not None
        before = env.view
        (node,) = [node for node in before.nodes if node.name == "F"]
        text, reward, terminated, _, _ = env.step(action.format(node.bid))
        assert text.startswith("Error: ")
        assert reported in text.splitlines()[0]
        assert (reward, terminated) == (0.0, False)
        assert [node.value for node in env.view.nodes] == [node.value for node in before.nodes]


def test_boxes_are_ticked_once() -> None:
    with opened("<label><input type=checkbox>Box</label><label><input type=radio>Way</label>") as env:
        box, way = bid(env, "checkbox", "Box"), bid(env, "radio", "Way")
        for action in (f"check('{box}')", f"check('{box}')", f"check('{way}')"):
            env.step(action)
        assert find(env, "checkbox", "Box").states[:1] == find(env, "radio", "Way").states[:1] == ("checked",)
        env.step(f"uncheck('{box}')")
        assert "checked" not in find(env, "checkbox", "Box").states


def test_options_are_chosen_by_text() -> None:
    with opened("""<select aria-label=One onchange="say(value)"><option value=1>a<option value=2>b</select>
        <select aria-label=More multiple><option>c<option>d<option>e</select>""") as env:
        env.step(f"select_option('{bid(env, 'combobox', 'One')}', 'b')")
        assert (find(env, "combobox", "One").value, said(env)) == ("b", ["2"])
        env.step(f"select_option('{bid(env, 'listbox', 'More')}', ['c', 'e'])")
        assert find(env, "listbox", "More").value == "c, e"


def test_keys_are_pressed_in_elements_and_where_the_focus_is() -> None:
    with opened(
        "<form method=post action=/second><input aria-label=A name=a><input aria-label=B name=b><button>S</button>"
    ) as env:
        env.step(f"focus('{bid(env, 'textbox', 'A')}')")
        env.step("keyboard_type('first')")
        env.step("keyboard_press('Tab')")
        env.step("keyboard_type('second')")
        assert (find(env, "textbox", "A").value, find(env, "textbox", "B").value) == ("first", "second")
        env.step(f"press('{bid(env, 'textbox', 'A')}', 'Control+a')")
        env.step("keyboard_type('fresh')")
        env.step(f"press('{bid(env, 'textbox', 'B')}', 'Enter')")
        assert env.posted == ["a=fresh&b=second"]
        assert env.view is not None
        assert env.view.url == "http://site/second"


@pytest.mark.parametrize("key", ["Shift+tab", "Control+", "Shift+a+b+c+d"])
def test_no_key_stays_held_when_a_combination_is_mistyped(key: str) -> None:
    with opened("<input aria-label=A>") as env:
        text, *_ = env.step(f"press('{bid(env, 'textbox', 'A')}', '{key}')")
        assert text.startswith("Error: ")
        for _ in range(2):
            env.step(f"press('{bid(env, 'textbox', 'A')}', 'KeyA')")
            assert find(env, "textbox", "A").value == "a"
            env.reset(seed=0, options={"task": "first"})


@pytest.mark.parametrize(("key", "typed"), [("+", "+"), ("Shift++", "+"), ("Shift+KeyA", "A"), ("Control+Shift+a", "")])
def test_keys_are_pressed_together(key: str, typed: str) -> None:
    with opened("<input aria-label=A>") as env:
        env.step(f"press('{bid(env, 'textbox', 'A')}', '{key}')")
        assert find(env, "textbox", "A").value == typed


def test_combinations_without_an_end_cost_a_turn() -> None:
    with opened("<input aria-label=A>") as env:
        text, *_ = env.step(f"keyboard_press('{'+'.join('a' * 1000)}')")
        assert text.startswith("Error: A combination may have 4 keys.")


@pytest.mark.parametrize("kind", ["keydown", "keyup"])
def test_a_key_may_close_its_tab(kind: str) -> None:
    with opened(f"<button>Go</button><script>addEventListener('{kind}', () => window.close())</script>") as env:
        env.step(f"press('{bid(env, 'button', 'Go')}', 'Enter')")
        assert env.view is not None
        assert env.view.url == "about:blank"


def test_pages_scroll_to_elements_and_on_request() -> None:
    with opened("<div style='height: 3000px'></div><button onclick=\"say(scrollY)\">Low</button>") as env:
        assert env.view is not None
        env.step("scroll(0, 300)")
        assert env.view.scroll == (0, 300)
        env.step(f"click('{bid(env, 'button', 'Low')}')")
        assert env.view.scroll[1] > 2000


def test_elements_in_frames_are_acted_on() -> None:
    frame = "<p>x</p><button onclick=\"parent.say('inside')\">In</button>"
    with opened(
        f"<div style='height: 900px'></div><iframe srcdoc='{frame.replace(chr(39), '&#39;')}'></iframe>"
    ) as env:
        env.step(f"click('{bid(env, 'button', 'In')}')")
        assert said(env) == ["inside"]


def test_tabs_open_change_and_close() -> None:
    with opened("<a href=/second target=_blank>New</a>") as env:
        text, *_ = env.step(f"click('{bid(env, 'link', 'New')}')")
        assert 'Tab 1: "http://site/second" (in front)' in text
        assert env.view is not None
        assert env.view.title == "Second"
        env.step("tab_focus(0)")
        assert bid(env, "link", "New")
        env.step("tab_close()")
        assert env.view.title == "Second"
        env.step("new_tab()")
        assert env.view.url == "about:blank"
        env.step("goto('site/second')")
        assert env.view.title == "Second"


def test_the_browser_history_is_available_if_enabled() -> None:
    with opened("<a href=/second>Go</a>", history=True) as env:
        first = env.anchor()
        env.step(f"click('{bid(env, 'link', 'Go')}')")
        env.step("go_back()")
        assert bid(env, "link", "Go")
        assert env.anchor() != first  # there is a way forward now
        env.step("go_forward()")
        assert env.view is not None
        assert env.view.title == "Second"
        text, *_ = env.step("go_forward()")
        assert text.startswith("Error: The tab's history ends here.")


def test_other_addresses_are_not_reached() -> None:
    with opened("") as env:
        text, *_ = env.step("goto('http://elsewhere/')")
        assert "cannot be reached" in text


def test_dialogs_are_answered_and_reported() -> None:
    with opened("<button onclick=\"alert('Careful'); say(confirm('Sure?'))\">Go</button>") as env:
        text, *_ = env.step(f"click('{bid(env, 'button', 'Go')}')")
        assert text.splitlines()[:2] == ['Noticed: "alert: Careful"', 'Noticed: "confirm: Sure?"']
        assert said(env) == ["false"]
        assert "Noticed" not in env.step("noop()")[0]


def test_a_message_to_the_user_ends_the_task() -> None:
    with opened("") as env:
        assert env.step("send_msg_to_user('yes')")[1:3] == (1.0, True)


@pytest.mark.parametrize(
    "action",
    sampled_params(
        ["keyboard_press('PageDown')", "keyboard_press('End')", "scroll(0, 700)", "click('{last}')"], parts=4
    ),
)
def test_a_document_receives_scroll_events_in_the_same_step(action: str) -> None:
    page = """<p style='height: 3000px'></p><button onclick='0'>Last</button>
        <script>onscroll = () => say(scrollY > 0)</script>"""
    for thought_s in (0, 0, 1):  # the document's clock is behind the machine's then
        with opened(page) as env:
            env.step("noop()")
            time.sleep(thought_s)
            env.step(action.replace("{last}", bid(env, "button", "Last")))
            assert said(env) == ["true"]


def test_a_document_receives_resize_and_intersection_events_in_the_same_step() -> None:
    page = """<button onclick="box.style.width = '50px'; low.scrollIntoView()">Go</button><div id=box>Box</div>
        <p style='height: 3000px'></p><p id=low>Low</p><script>
        new ResizeObserver(all => say('wide' + all[0].contentRect.width)).observe(box);
        new IntersectionObserver(all => say('seen' + all[0].isIntersecting)).observe(low)</script>"""
    with opened(page, width=400) as env:
        assert said(env) == ["wide384", "seenfalse"]
        time.sleep(1)
        env.step(f"click('{bid(env, 'button', 'Go')}')")
        assert said(env)[2:] == ["wide50", "seentrue"]
