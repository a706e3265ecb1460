"""Actions that mean nothing, and searches that try to be more than words."""

from __future__ import annotations

import time

import pytest

from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import Make, start

pytestmark = pytest.mark.rotating(4)

UNDERSTOOD_AS_NOTHING = [
    "", " ", "\n", "search", "search[", "search[]", "search]lamp[", "[lamp]", "Search[lamp]", " search[lamp]",
    "find[lamp]", "click[lamp000001", "click lamp000001", "click[]", "click[buy]", "click[search]", "click[< back]",
    "click[LAMP00000]", "\nsearch[lamp]", "search[lamp\n]", "search[\nlamp]", "click[\u202ebuy now]",
    "click[buy now\x00]", "CLICK[next >]",
    "click[next >][0]", "click[1]", "click[{{7*7}}]", "click[' or '1'='1]", "click[(.*)]", "click[<script>]",
    "search[" + "x" * 200_000 + "]",  # longer than an action may be, so it is cut before its end
]  # fmt: skip


@pytest.mark.parametrize("action", UNDERSTOOD_AS_NOTHING, ids=tiny.short)
@pytest.mark.parametrize("before", [(), ("search[rug lamp]",), ("search[lamp]", "click[lamp000002]")], ids=len)
def test_a_malformed_action_leaves_the_page_unchanged(tiny_env: Make, before: tuple[str, ...], action: str) -> None:
    env = tiny_env()
    text, info = start(env, *before)
    no_reward = dict.fromkeys(env.meta.parts, 0.0)  # of a turn; the first page came without one
    assert start(env, *before, action) == (text, {**info, "channels": no_reward})


SEARCHED = [
    "'; DROP TABLE products; --", "<script>alert(1)</script>", "{{7*7}} ${7*7} %(x)s %s {0}", "(a+)+$ .* \\",
    "\x00\x01\x1b(B\x7f", "\ud800\udfff lamp", "\u202elamp", "]" * 1000, "lamp\rrug\x85rug\u2028", "lamp " * 20_000,
    "_" * 131_000, "\u00e9_" * 65_000, "\U0001f44d\u200d" * 9999, "+lamp -rug lamp* title:lamp~2 \"lamp",
    "../../etc", "<r>", "<c>", "<q> \x00", "<a> lamp",
]  # fmt: skip


@pytest.mark.parametrize("observation", ["text", "text_rich", "html"])
@pytest.mark.parametrize("query", SEARCHED, ids=tiny.short)
def test_any_text_can_be_searched_from_any_page(tiny_env: Make, query: str, observation: str) -> None:
    env = tiny_env(observation=observation)
    begin = time.process_time()
    way = ("search[lamp]", "click[lamp000001]", "click[features]")
    for length in range(4):
        text, _ = start(env, *way[:length], f"search[{query}]")
        assert env.session.page == "results"
        assert "Total results: " in text
        assert "49" not in text  # nothing was carried out
    assert time.process_time() - begin < 2.0


def test_actions_are_parsed_without_regard_to_case_and_trailing_text(tiny_env: Make) -> None:
    env = tiny_env()
    assert start(env, "search[LAMP]") == start(env, "search[lamp] and so on") == start(env, "search[lamp]\nclick[x]")
    assert start(env, "search[lamp]", "click[Lamp000001]") == start(env, "search[lamp]", "click[LAMP000001]")
    start(env, "search[lamp]", "click[lamp000001]", "click[COAL GREY]")
    assert env.session.options == {"color": "coal grey"}


def test_a_search_works_on_pages_without_a_search_bar(tiny_env: Make) -> None:
    text, _ = start(tiny_env(), "search[lamp]", "click[lamp000001]", "click[description]", "search[mug]")
    assert "MUG0000001 [SEP] Mug [SEP] $985.0" in text
