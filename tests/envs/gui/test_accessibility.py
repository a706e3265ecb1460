"""The text of a page: roles, names, numbers, and how a budget cuts it."""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")

from cairn.core.errors import ConfigError
from cairn.envs import registry
from cairn.envs.gui.accessibility import AccessibilityNode, View
from cairn.envs.gui.browsing import _browser
from cairn.envs.gui.render_text import CHARS_PER_TOKEN, tell
from tests.envs.gui.browser import CHROMIUM
from tests.envs.gui.pages import PagesEnv, bid, find

pytestmark = pytest.mark.rotating(4)

browser = [pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"), pytest.mark.xdist_group("memory")]
PAGE = """<title>Shop</title><h1>Tea</h1><p>Black <b>and</b> green.</p>
<nav aria-label=Ways><a href=/a>Home</a> <a href=/b>Home</a></nav>
<p hidden>secret</p><p style='visibility:hidden'>secret</p><p aria-hidden=true>secret</p>
<label>Size <select><option>small<option selected>large</select></label>
<input type=password aria-label=Word value=hunter2><button disabled>Buy</button>"""


@contextmanager
def opened(document: str, **config: Any) -> Iterator[PagesEnv]:  # Any: GuiConfig's
    env = PagesEnv({"it": document}, **config)
    env.reset(seed=0, options={"task": "it"})
    yield env
    env.close()


class TestPage:
    pytestmark = browser

    def test_a_page_as_text(self) -> None:
        with opened(PAGE) as env:
            assert env.view is not None
            ids = {(node.role, node.name): node.bid for node in env.view.nodes if node.bid}
            first, second = (node.bid for node in env.view.nodes if node.name == "Home" and node.bid)
            assert tell(env.view, 1000).splitlines() == [
                'heading "Tea"',
                '"Black"',
                '"and"',
                '"green."',
                'navigation "Ways"',
                f'  [{first}] link "Home"',
                f'  [{second}] link "Home"',
                '"Size"',
                f'[{ids["combobox", "Size"]}] combobox "Size": "large" of "small", "large"',
                f'[{ids["textbox", "Word"]}] textbox "Word": "\u2022\u2022\u2022\u2022\u2022\u2022\u2022"',
                f'[{ids["button", "Buy"]}] button "Buy" (disabled)',
            ]

    def test_visible_line_breaks_and_spaces_are_shown(self) -> None:
        long = "x" * 1000
        document = (
            f"<pre>Hours:\n  9 to 17\n{long}</pre><p style='white-space: pre-wrap'>\none\ntwo\n</p>"
            f"<p>three\nfour {long}</p><textarea aria-label=T>\n a\n\nb  c\n</textarea>"
            "<input aria-label=I value='d  e'><button>f\n<pre>g\nh</pre></button>"
        )
        with opened(document) as env:
            assert env.view is not None
            lines = [line.partition("] ")[2] or line for line in tell(env.view, 3000).splitlines()]
        assert lines == [
            f'"Hours:\\n  9 to 17\\n{long}"',
            '"one\\ntwo"',
            f'"three four {long[:389]}…"',
            'textbox "T": " a\\n\\nb  c\\n"',
            'textbox "I": "d  e"',
            'button "f g h"',
        ]

    def test_the_shown_value_of_several_lines_can_be_filled_in_again(self) -> None:
        with opened("<textarea aria-label=T>one\n\n  two</textarea>") as env:
            value = find(env, "textbox", "T").value
            env.step(f"clear('{bid(env, 'textbox', 'T')}')")
            env.step(f"fill('{bid(env, 'textbox', 'T')}', {value!r})")
            assert find(env, "textbox", "T").value == value == "one\n\n  two"

    def test_a_drawing_that_is_clicked_has_a_role_only_if_it_has_a_name(self) -> None:
        """Whether Chromium gives it one without depends on when it last looked."""
        with opened("<svg onclick='f()'></svg><svg onclick='f()' aria-label=Ring></svg>") as env:
            assert env.view is not None
            roles = {node.name: node.role for node in env.view.nodes if node.bid}
            assert roles == {"": "generic", "Ring": "image"}

    def test_a_frame_is_read_about_as_fast_as_the_page_around_it(self) -> None:
        buttons = "".join(f"<button>Number {i}</button>" for i in range(200))
        fastest = {}
        for name, document in {"plain": buttons, "framed": f'<iframe width=900 height=700 srcdoc="{buttons}">'}.items():
            with opened(document) as env:
                assert env.view is not None
                assert sum(node.role == "button" for node in env.view.nodes) == 200
                took = timeit.repeat(lambda env=env: env.step("noop()"), number=1, repeat=3)  # type: ignore[misc]  # one env
                fastest[name] = min(took)
        assert fastest["framed"] < 5 * fastest["plain"], fastest

    def test_only_the_dialogue_in_front_is_seen(self) -> None:
        with opened(
            "<button>Behind</button><dialog id=d><button>Yes</button></dialog><script>d.showModal()</script>"
        ) as env:
            assert bid(env, "button", "Yes")
            assert "Behind" not in env.step("noop()")[0]

    def test_an_element_keeps_its_number_while_the_page_changes_around_it(self) -> None:
        document = "<div id=d></div><button onclick=\"d.innerHTML = '<button>New</button><p>text</p>'\">Add</button>"
        with opened(document) as env:
            before = bid(env, "button", "Add")
            env.step(f"click('{before}')")
            assert bid(env, "button", "New") != before == bid(env, "button", "Add")

    def test_equal_pages_have_equal_texts_pictures_and_anchors_in_a_fresh_browser(self) -> None:
        document = PAGE + "<script>document.body.append(Math.random(), ' ', Date.now())</script>"
        seen = []
        for _ in range(2):
            _browser.cache_clear()
            with opened(document, image=True) as env:
                text, info = env.reset(seed=3, options={"task": "it"})
                seen.append((text, info["image"], info["anchor"]))
            env._browser.close()
        _browser.cache_clear()
        assert seen[0] == seen[1]

    def test_a_picture_has_the_size_of_the_window_and_shows_numbers_where_asked(self) -> None:
        from io import BytesIO

        from PIL import Image

        pictures = []
        for marks in (False, True):
            with opened(PAGE, image=True, marks=marks, width=400, height=300) as env:
                pictures.append(Image.open(BytesIO(env.reset(seed=0, options={"task": "it"})[1]["image"])))
        assert [picture.size for picture in pictures] == [(400, 300), (400, 300)]
        assert pictures[0].convert("RGB").tobytes() != pictures[1].convert("RGB").tobytes()

    def test_values_and_states_make_other_anchors_and_numbers_do_not(self) -> None:
        with opened("<label><input type=checkbox>Box</label><input aria-label=F>") as env:
            first = env.anchor()
            env.step(f"fill('{bid(env, 'textbox', 'F')}', 'x')")
            second = env.anchor()
            env.step(f"clear('{bid(env, 'textbox', 'F')}')")
            third = env.anchor()
            env.step(f"check('{bid(env, 'checkbox', 'Box')}')")
            assert len({first, second, third, env.anchor()}) == 4  # the focus has moved, too

    @pytest.mark.parametrize(
        ("document", "one", "other"),
        [
            ("<input type=password aria-label=F>", "fill('{}', 'red')", "fill('{}', 'tan')"),
            ("<textarea aria-label=F></textarea>", "fill('{}', 'a\\nb')", "fill('{}', 'a b')"),
            ("<input aria-label=F>", f"fill('{{}}', '{'x' * 500}a')", f"fill('{{}}', '{'x' * 500}b')"),
            (
                "<input type=hidden id=h><button aria-label=F onmousedown='h.value += event.button'>Go</button>",
                "click('{}')",
                "click('{}', 'right')",
            ),
            (
                "<select multiple aria-label=F><option value=1>a<option value=2>a</select>",
                "select_option('{}', '1')",
                "select_option('{}', '2')",
            ),
            ("<input aria-label=F value=abc>", "press('{}', 'Home')", "press('{}', 'End')"),
            ("<input aria-label=F value=abc>", "press('{}', 'Shift+End')", "press('{}', 'End')"),
            (
                "<input aria-label=F type=button style='position: fixed; top: 300px'>"
                "<div style='height: 100px; overflow: auto; width: 90px' onmousemove='scrollTop = event.offsetX'>"
                "<p style='height: 1000px'></p></div>",
                "mouse_move(20, 40)",
                "mouse_move(40, 40)",
            ),
        ],
    )  # fmt: skip
    def test_invisible_state_changes_the_anchor(self, document: str, one: str, other: str) -> None:
        with opened(document) as env:
            anchors = []
            for action in (one, other, one):
                env.reset(seed=0, options={"task": "it"})
                assert env.view is not None
                (target,) = [node.bid for node in env.view.nodes if node.name == "F" or node.role == "button"]
                assert not env.step(action.format(target))[0].startswith("Error")
                anchors.append(env.anchor())
        assert anchors[0] == anchors[2] != anchors[1]

    def test_parts_that_a_document_declares_volatile_do_not_change_the_anchor(self) -> None:
        document = (
            "<html{}><p{}>Seen <b>0</b> times</p><ul><li>One<li>Two</ul><button onclick=\"document.querySelector('b')"
            ".textContent++; history.replaceState(0, '', '?at=' + Math.random() + '&page=1')\">Look</button>"
        )
        for said, inside, is_same in (("=at", "", True), ("=page", "", False), ("=at", None, False)):
            parts = f" data-volatile{said}", " data-volatile" if inside == "" else ""
            with opened(document.format(*parts)) as env:
                anchors = []
                for _ in range(2):
                    env.step(f"click('{bid(env, 'button', 'Look')}')")
                    anchors.append(env.anchor())
                assert "Seen" in env.step("noop()")[0]
                assert (anchors[0] == anchors[1]) == is_same, said

    def test_copied_text_changes_the_anchor(self) -> None:
        with opened("<input aria-label=A value=abc><button aria-label=B>B</button>") as env:
            anchors = []
            for key in ("Control+c", "Shift+ArrowLeft", "Control+c"):
                env.reset(seed=0, options={"task": "it"})
                for action in (f"press('{bid(env, 'textbox', 'A')}', 'Control+a')", f"keyboard_press('{key}')"):
                    env.step(action)
                env.step(f"clear('{bid(env, 'textbox', 'A')}')")
                anchors.append(env.anchor())
        assert anchors[0] == anchors[2] != anchors[1]


def test_marks_without_a_picture_are_refused() -> None:
    with pytest.raises(ConfigError, match="needs image = true"):
        registry.make("gui/apps", marks=True)


def view(*nodes: AccessibilityNode) -> View:
    return View(title="", url="", nodes=nodes, left=0, scroll=(0, 0), size=(100, 100), height=1000, held="")


def node(name: str, y: int, bid: str = "") -> AccessibilityNode:
    role = "button" if bid else "text"
    return AccessibilityNode(
        parent=-1, role=role, name=name, value=None, states=(), box=(0, y, 10, 10), options=(), bid=bid
    )


def test_a_budget_cuts_the_least_useful_lines_first_and_counts_them() -> None:
    nodes = (node("near", 10), node("low", 900), node("lower", 950), node("Go", 20, "1"), node("Low", 920, "2"))
    lines = ['"near"', '"low"', '"lower"', '[1] button "Go"', '[2] button "Low"']
    for dropped in ([], [2], [2, 1], [2, 1, 4], [2, 1, 4, 3]):
        kept = [line for at, line in enumerate(lines) if at not in dropped]
        budget = -(-sum(len(line) + 1 for line in kept) // CHARS_PER_TOKEN)
        said = tell(view(*nodes), budget).splitlines()
        assert said == kept + ([f"({len(dropped)} more lines are left out for length.)"] if dropped else [])


def test_a_long_line_leaves_room_for_others_and_a_list_is_cut_to_its_first_options() -> None:
    options = tuple(f"Town {number:03}" for number in range(500))
    choice = replace(node("", 5, "3"), role="combobox", value="Town 499", options=options)
    # A quarter of 400 characters is 100: eight options, each of ten characters and two after it.
    reported = ", ".join(f'"{option}"' for option in options[:8])
    shown = view(node("w" * 400, 1, "7"), choice, node("near", 10), node("z" * 900, 15), node("Go", 20, "1"))
    assert tell(shown, 100).splitlines() == [
        f'[3] combobox: "Town 499" of {reported} and 492 more',
        '"near"',
        '[1] button "Go"',
        "(2 more lines are left out for length.)",
    ]


def test_unread_elements_are_counted_too() -> None:
    assert (
        tell(replace(view(node("near", 10)), left=7), 100).splitlines()[-1] == "(7 more lines are left out for length.)"
    )
