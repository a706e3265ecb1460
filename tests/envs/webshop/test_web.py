"""The web shop's pages against the text shop: the same states, scores and choices, for every kind of click."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cairn.envs.webshop import env as env_module
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.goals import Goals
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.web import make_app, make_pages
from cairn.envs.webshop.web_episodes import NO_CLICK, NO_SEARCH, OVER, STALE, Episodes
from tests.envs.webshop import tiny
from tests.envs.webshop.forms import HOST, Page, Visitor
from tests.envs.webshop.side_by_side import SHOP, TextShop, agree, walk

pytestmark = pytest.mark.rotating(4)


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(WebShopEnv(**SHOP), capacity=3), base_url=HOST)


@pytest.mark.parametrize("task", [f"goal/{number}" for number in range(0, 40, 4)])
def test_an_oracles_episode_through_the_forms_is_the_text_shops(client: TestClient, task: str) -> None:
    visitor, shop = Visitor(client, task), TextShop(task)
    agree(visitor, shop)
    while not (shop.known["terminated"] or shop.known["truncated"]):
        action = shop.env.oracle()
        visitor.act(action)
        shop.act(action)
        agree(visitor, shop)
        assert visitor.page.notice == ""
    assert visitor.state["score"] == 1.0
    assert visitor.page.one("p", role="status").text == "Your score (min 0.0, max 1.0): 1.0"
    assert visitor.page.clicks == []


def test_an_oracles_episodes_in_the_original_shop_are_the_text_shops() -> None:
    tiny.data_folder()
    original = {"source": "webshop-1000"}
    client = TestClient(make_app(WebShopEnv(**{**SHOP, **original})), base_url=HOST)
    for task in [f"goal/{number}" for number in range(0, 100, 20)]:
        visitor, shop = Visitor(client, task), TextShop(task, **original)
        while not (shop.known["terminated"] or shop.known["truncated"]):
            action = shop.env.oracle()
            visitor.act(action)
            shop.act(action)
            agree(visitor, shop)
        assert visitor.state["score"] == shop.env.best_score(task)


def test_the_text_shop_accepts_all_links_of_a_page_and_chosen_options_are_checked(client: TestClient) -> None:
    rng, pages, num_checked = random.Random(0), set(), 0
    for task in [f"goal/{number}" for number in range(16)]:
        visitor, shop = Visitor(client, task), TextShop(task)
        while not (shop.known["terminated"] or shop.known["truncated"]):
            checked = [radio.text for radio in visitor.page.all("button", role="radio", aria_checked="true")]
            if shop.env.session.page == "item":
                assert sorted(checked) == sorted(shop.env.session.options.values())
                num_checked += len(checked)
            pages.add(visitor.state["page"])
            walk(visitor, shop, rng)
            agree(visitor, shop)
    assert pages >= {"search", "results", "item", "description", "features", "reviews", "attributes"}
    assert num_checked > 10


def test_options_named_like_buttons_or_like_each_other_act_as_in_the_text_shop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = tiny.catalogue(tmp_path)
    tiny_shop = Shop(catalogue, Goals(catalogue))
    monkeypatch.setattr(env_module, "open_shop", lambda *_: tiny_shop)
    client = TestClient(make_app(WebShopEnv(**SHOP, split="all")), base_url=HOST)
    for product in (tiny.MUG2, tiny.RUG, tiny.RUG2):
        buttons, at = 1, 0
        while at < buttons:
            visitor, shop = Visitor(client, "goal/0"), TextShop("goal/0", split="all")
            for action in ("search[<r>]", f"click[{product.asin.lower()}]"):
                visitor.act(action)
                shop.act(action)
            buttons = len(visitor.page.all("button", name="click"))
            button = visitor.page.all("button", name="click")[at]
            visitor.submit(button, button.attributes["value"])
            shop.act(f"click[{button.attributes['value']}]")
            agree(visitor, shop)
            checked = visitor.page.all("button", role="radio", aria_checked="true")
            is_item = shop.env.session.page == "item"
            assert [radio.text for radio in checked] == (list(shop.env.session.options.values()) if is_item else [])
            at += 1
        assert buttons >= 6


def test_episodes_played_in_turns_do_not_see_each_other(client: TestClient) -> None:
    tasks = ["goal/3", "goal/11", "goal/3"]
    played = [(Visitor(client, task), TextShop(task), random.Random(seed)) for seed, task in enumerate(tasks)]
    for _ in range(12):
        for visitor, shop, rng in played:
            if not shop.known["terminated"]:
                walk(visitor, shop, rng)
        for visitor, shop, _ in played:
            agree(visitor, shop)


def item_page(client: TestClient, task: str = "goal/5") -> tuple[Visitor, TextShop]:
    """Go to the page of the task's product by the oracle's way."""
    visitor, shop = Visitor(client, task), TextShop(task)
    while shop.env.session.page != "item":
        action = shop.env.oracle()
        visitor.act(action)
        shop.act(action)
    return visitor, shop


def test_an_action_on_an_outdated_page_does_nothing_and_shows_a_notice(client: TestClient) -> None:
    visitor, shop = item_page(client)
    old = visitor.page
    visitor.act("click[description]")
    shop.act("click[description]")
    visitor.page = old  # the Back button
    page = visitor.act("click[buy now]")
    assert page.notice == STALE
    assert page.one("h1").text == "Description"
    agree(visitor, shop)
    assert visitor.act("click[< prev]").notice == ""  # the notice goes with the next action


def test_a_second_submission_does_nothing(client: TestClient) -> None:
    visitor, shop = item_page(client)
    old = visitor.page
    visitor.act("click[back to search]")
    shop.act("click[back to search]")
    visitor.page = old
    visitor.act("click[back to search]")
    agree(visitor, shop)


def test_buying_twice_buys_once(client: TestClient) -> None:
    visitor, shop = item_page(client)
    old = visitor.page
    visitor.act("click[buy now]")
    shop.act("click[buy now]")
    visitor.page = old
    assert visitor.act("click[buy now]").notice == OVER
    agree(visitor, shop)


@pytest.mark.parametrize(
    ("field", "value", "notice"),
    [
        ("click", "no such thing", NO_CLICK),
        ("click", "search", NO_CLICK),
        ("click", "", NO_CLICK),
        ("click", "buy now]\nclick[no such thing", ""),
        ("search", "", NO_SEARCH),
        ("search", "a [b] c", NO_SEARCH),
        ("search", "x" * 5000, ""),
        ("search", "\x00\U0001f600\u202e", ""),
        ("click", "Back To SEARCH", ""),
    ],
)
def test_a_posted_action_has_the_same_effect_as_in_the_text_shop(
    client: TestClient, field: str, value: str, notice: str
) -> None:
    visitor, shop = item_page(client)
    visitor.read(client.post(f"{visitor.address}act", data={field: value}))
    shop.act(f"{field}[{value}]")
    agree(visitor, shop)
    assert visitor.page.notice == notice
    assert (shop.env.session.page == "item") is bool(notice)


def test_an_episode_without_turns_left_shows_a_notice_and_accepts_no_action() -> None:
    client = TestClient(make_app(WebShopEnv(**SHOP, turn_limit=2)), base_url=HOST)
    visitor, shop = Visitor(client, "goal/5"), TextShop("goal/5", turn_limit=2)
    for action in ("search[a thing]", "click[next >]"):
        visitor.act(action)
        shop.act(action)
    agree(visitor, shop)
    assert visitor.state["truncated"]
    assert visitor.page.notice.startswith("No turns are left")
    assert visitor.page.clicks == []
    assert all(not button.is_on for button in visitor.page.all("button"))
    client.post(f"{visitor.address}act", data={"click": "back to search"})
    assert visitor.state["notice"] == OVER
    agree(visitor, shop)


def test_reset_starts_another_task_under_the_same_address(client: TestClient) -> None:
    visitor, _ = item_page(client)
    answer = client.post(f"{visitor.address}reset", json={"task": "goal/9"})
    assert visitor.look().one("h1").text == "Search"
    agree(visitor, TextShop("goal/9"))
    assert answer.json() == visitor.state
    refused = client.post(f"{visitor.address}reset", json={"task": "goal/999999"})
    assert refused.status_code == 404
    assert "There is no task 'goal/999999'" in refused.json()["error"]
    agree(visitor, TextShop("goal/9"))


def test_without_a_task_the_seed_picks_one(client: TestClient) -> None:
    env = WebShopEnv(**SHOP)
    tasks = [env.reset(seed=seed)[1]["task_id"] for seed in (1, 2, 3)]
    assert [Visitor(client, seed=str(seed)).state["task_id"] for seed in (1, 2, 3)] == tasks
    assert len(set(tasks)) > 1
    visitor = Visitor(client)
    assert client.post(f"{visitor.address}reset", json={"seed": 2}).json()["task_id"] == tasks[1]


def test_pages_of_episodes_that_a_process_opens_are_all_that_it_serves() -> None:
    shop = WebShopEnv(**SHOP)
    episodes = Episodes(shop, 1, lambda: "here")
    client = TestClient(make_pages(shop, episodes), base_url=HOST)
    missing = client.get("/s/here/")
    assert (missing.status_code, "Start an episode" in missing.text) == (404, False)  # nothing here would start one
    assert "Start an episode" in TestClient(make_app(shop), base_url=HOST).get("/s/here/").text
    assert episodes.open("goal/0") == "here"
    page = Page(client.get("/s/here/").text)
    mark = page.one("input", type="hidden").attributes["value"]
    assert client.post("/s/here/act", data={"search": "mirror", "at": mark}).status_code == 200
    assert episodes.find("here").state.page == "results"
    assert client.get("/style.css").status_code == 200
    for method, path in (("GET", ""), ("POST", "episodes"), ("GET", "s/here/state"), ("POST", "s/here/reset")):
        assert client.request(method, f"/{path}").status_code == 404
    assert episodes.open("goal/1") == "here"  # in its place
    assert (len(episodes), episodes.find("here").state.page) == (1, "search")
