"""The web shop in a browser: its episodes are the text shop's, and nothing but its pages can be reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")

from cairn.core.errors import ConfigError
from cairn.envs.gui.browsing import close_browsers
from cairn.envs.gui.variants.webshop import ShopPagesConfig, ShopPagesEnv
from cairn.envs.webshop.env import ShopConfig, WebShopEnv
from cairn.envs.webshop.web_episodes import STALE
from tests.envs.gui.browser import CHROMIUM

pytestmark = [
    pytest.mark.rotating(4),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("memory"),
]
SHOP: dict[str, Any] = {"num_products": 200}  # Any: settings
URL = "http://shop/s/1/"


@pytest.fixture(scope="module")
def env() -> Iterator[ShopPagesEnv]:
    found = ShopPagesEnv(**SHOP)
    yield found
    found.close()


def begin(env: ShopPagesEnv, task: str = "goal/0", *, turns: int = 0) -> str:
    """Start, and take some of the oracle's turns."""
    text, _ = env.reset(seed=0, options={"task": task})
    for _ in range(turns):
        text = do(env, env.oracle())
    return text


def do(env: ShopPagesEnv, action: str) -> str:
    return env.step(action)[0]


def click(env: ShopPagesEnv, role: str, name: str, *more: str) -> str:
    assert env.view is not None
    (bid,) = [node.bid for node in env.view.nodes if node.bid and (node.role, node.name) == (role, name)]
    return do(env, f"click({', '.join(map(repr, (bid, *more)))})")


@pytest.mark.parametrize("task", ["goal/0", "goal/77", "goal/300"])
def test_the_oracle_buys_the_same_on_the_pages_as_in_the_text_shop(env: ShopPagesEnv, task: str) -> None:
    text, terminated, bought = WebShopEnv(**SHOP), False, []
    text.reset(seed=0, options={"task": task})
    while not terminated:
        bought.append(action := text.oracle())
        _, reward, terminated, _, _ = text.step(action)
    begin(env, task)
    terminated, done = False, []
    while not terminated:
        action = env.oracle()
        assert env.oracle() == action  # asking changes nothing
        _, paid, terminated, _, info = env.step(action)
        done.append(action)
    assert (paid, info["score"], info["success"]) == (reward, reward, reward == 1.0)
    assert env._shop.session == text.session
    assert len(done) == len(bought) + 1  # a search is two: the words, and Enter


def test_tasks_and_their_scores_are_those_of_the_text_shop(env: ShopPagesEnv) -> None:
    text = WebShopEnv(**SHOP)
    assert list(env.tasks()) == list(text.tasks())
    assert env.has_task("goal/1")
    assert not env.has_task("goal/no")
    assert env.difficulty("goal/5") == text.difficulty("goal/5") != ""
    assert (env.task_type("goal/5"), env.best_score("goal/5")) == (text.task_type("goal/5"), text.best_score("goal/5"))


def test_settings_of_both_are_taken_once_and_how_texts_look_is_none_of_them() -> None:
    assert {*ShopConfig.model_fields} < {*ShopPagesConfig.model_fields}
    other = ShopPagesEnv(**SHOP, split="test", shop_seed=3, width=800)
    assert list(other.tasks()) == list(WebShopEnv(**SHOP, split="test", shop_seed=3).tasks())
    with pytest.raises(ConfigError, match="observation"):
        ShopPagesEnv(observation="html")


def test_a_purchase_that_does_not_fit_ends_the_task_without_success(env: ShopPagesEnv) -> None:
    begin(env, turns=2)
    assert env.view is not None
    click(env, "link", [node.name for node in env.view.nodes if node.bid and node.role == "link"][-1])
    assert env.view is not None
    (buy,) = [node.bid for node in env.view.nodes if node.bid and node.name == "Buy Now"]
    text, reward, terminated, _, info = env.step(f"click('{buy}')")
    assert (terminated, info["success"]) == (True, False)
    assert reward == info["score"] < 1.0
    assert text == f"The purchase is made. Score: {reward}"
    assert info["admissible_actions"] == ()


def test_the_browsers_turns_count_and_the_shops_do_not(env: ShopPagesEnv) -> None:
    assert env.turn_limit == 30
    begin(env, turns=2)
    for turn in range(27):  # more than the 15 of the text shop
        assert click(env, "button", "Next >" if turn % 2 == 0 else "< Prev").startswith("Page ")
    assert env.step("noop()")[2:4] == (False, True)


@pytest.mark.parametrize("path", ["", "episodes", "s/1/state", "s/1/reset", "s/2/"])
def test_nothing_but_the_episodes_pages_can_be_reached(env: ShopPagesEnv, path: str) -> None:
    begin(env, turns=3)
    before = env._shop.state()
    text = do(env, f"goto('http://shop/{path}')")
    assert "Not Found" in text or "no such episode" in text
    assert "anchor" not in text
    assert env._shop.state() == before
    assert env.oracle() == f"goto('{URL}')"
    assert "radiogroup" in do(env, env.oracle())


def test_functions_that_a_shop_does_not_need_are_missing(env: ShopPagesEnv) -> None:
    begin(env)
    names = {tool["function"]["name"] for tool in env.tools()}
    assert names & {"send_msg_to_user", "new_tab", "tab_close", "tab_focus"} == set()
    assert names >= {"click", "fill", "press", "goto"}
    assert "There is no function 'send_msg_to_user' here" in do(env, "send_msg_to_user('Bought.')")


def test_an_episode_has_the_same_address_and_picture_each_time() -> None:
    env = ShopPagesEnv(**SHOP, image=True)
    seen = set()
    for _ in range(2):
        text, info = env.reset(seed=0, options={"task": "goal/3"})
        for _ in range(3):
            seen.add((env.turn, text, info["anchor"], info["image"]))
            text, _, _, _, info = env.step(env.oracle())
    env.close()
    assert len(seen) == 3
    assert all(f'at "{URL}"' in text for _, text, _, _ in seen)


def test_no_blinking_mark_is_in_pictures_though_the_pages_take_no_styles(env: ShopPagesEnv) -> None:
    begin(env)
    assert env._page is not None
    colour = env._page.tab.call("", "getComputedStyle(document.querySelector('input[type=search]')).caretColor")
    assert env._browser.run(colour) == "rgba(0, 0, 0, 0)"


def test_options_chosen_in_another_order_lead_to_the_same_end(env: ShopPagesEnv) -> None:
    anchors = []
    for order in ((0, 1), (1, 0)):
        begin(env, turns=3)
        groups = [node for node in env.view.nodes if node.role == "radiogroup"] if env.view else []
        for group in order:
            assert env.view is not None
            place = env.view.nodes.index(next(n for n in env.view.nodes if n.name == groups[group].name))
            do(env, f"click('{next(n.bid for n in env.view.nodes if n.role == 'radio' and n.parent == place)}')")
        before = env.anchor()
        click(env, "button", "Buy Now")
        anchors.append((before == env.anchor(), env.anchor()))
    assert anchors[0] == anchors[1]


def test_a_double_click_is_one_of_the_shops_actions(env: ShopPagesEnv) -> None:
    begin(env, turns=2)
    assert env.view is not None
    (bid,) = [node.bid for node in env.view.nodes if node.bid and node.name == "Next >"]
    assert "Page 2 (Total results" in do(env, f"dblclick('{bid}')")
    assert env._shop.session.number == 2


def test_the_text_of_the_next_page_is_part_of_the_state(env: ShopPagesEnv) -> None:
    begin(env, turns=3)
    before = env.hidden()
    env._episodes.act("1", "click[buy now]", "a page of before")
    assert env.hidden() != before
    assert STALE in do(env, f"goto('{URL}')")


def test_the_oracle_finds_back_from_anywhere(env: ShopPagesEnv) -> None:
    begin(env, turns=2)
    click(env, "button", "Next >")
    do(env, "goto('about:blank')")
    for _ in range(12):
        _, _, terminated, _, info = env.step(env.oracle())
        if terminated:
            break
    assert info["success"]


def test_the_oracle_searches_by_all_where_the_name_does_not_find_it(
    env: ShopPagesEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "nothing has this name"
    monkeypatch.setattr("cairn.envs.webshop.oracle.searches", lambda product: (name, product.document[:2000]))
    begin(env)
    assert name not in env.oracle()
    do(env, f"fill('{re.findall('[0-9]+', env.oracle())[0]}', '{name}')")
    do(env, "keyboard_press('Enter')")
    for _ in range(12):
        _, _, terminated, _, info = env.step(env.oracle())
        if terminated:
            break
    assert info["success"]


def test_closed_browsers_start_again_when_an_environment_is_reset(env: ShopPagesEnv) -> None:
    begin(env)
    browser = env._browser
    assert browser.memory_bytes() > 0
    close_browsers()
    assert browser.memory_bytes() == 0
    assert begin(env).startswith("Goal:")
    assert env._browser is browser
