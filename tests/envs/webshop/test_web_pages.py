"""Structure of the web shop's pages: landmarks, names, labels and roles, and nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cairn.core.errors import CairnError
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.web import make_app
from tests.envs.webshop.forms import HOST, Page, Visitor

SHOP: dict[str, Any] = {"num_products": 40, "show_attributes": True}  # Any: settings


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(WebShopEnv(**SHOP), capacity=3), base_url=HOST)


def test_the_start_page_offers_the_chosen_task() -> None:
    env = WebShopEnv(**SHOP)
    client = TestClient(make_app(env, "goal/7"), base_url=HOST)
    page = Page(client.get("/").text)
    box = page.one("input", name="task")
    assert box.attributes["value"] == "goal/7"
    visitor = Visitor(client, box.attributes["value"])
    assert visitor.state["task_id"] == "goal/7"
    with pytest.raises(CairnError, match="There is no task 'goal/no'"):
        make_app(env, "goal/no")


def test_equal_states_have_equal_pages_and_no_page_contains_the_episodes_id(client: TestClient) -> None:
    one, other = Visitor(client, "goal/1"), Visitor(client, "goal/1")
    other.act("search[anything]")
    other.act("click[back to search]")
    assert one.look().source == other.look().source
    assert one.address.split("/")[2] not in one.page.source
    assert len({one.address, other.address}) == 2


def test_every_page_has_landmarks_labels_and_roles_for_programs(client: TestClient) -> None:
    visitor, titles = Visitor(client, "goal/5"), set()
    instruction = WebShopEnv(**SHOP).goal("goal/5").instruction
    for action in ("search[<r>]", "click[next >]", "click[]", "click[features]", "click[< prev]", "click[buy now]", ""):
        page, kind = visitor.page, visitor.state["page"]
        assert page.one("html").attributes["lang"] == "en"
        assert [len(page.all(tag)) for tag in ("header", "main", "h1")] == [1, 1, 1]
        assert page.one("section", aria_labelledby="instruction").text.split("\n")[2] == instruction
        assert len(page.all("nav", aria_label="Pages")) == (0 if kind in ("search", "done") else 1)
        assert len(page.all("div", role="search")) == (1 if kind == "search" else 0)
        titles.add(page.one("title").text)
        for box in page.all("input"):
            is_hidden = box.attributes["type"] == "hidden"
            assert is_hidden or page.one("label", **{"for": box.attributes["id"]}).text
        if action == "click[]":
            action = f"click[{page.all('button', role='link')[0].attributes['value']}]"
        if action:
            visitor.act(action)
    assert len(titles) == 6  # of seven pages: the item's comes twice


def test_results_are_a_list_of_links_with_names_and_prices(client: TestClient) -> None:
    visitor = Visitor(client, "goal/5")
    page = visitor.act("search[<r>]")
    env = WebShopEnv(**SHOP)
    links = page.all("button", role="link")
    assert len(links) == len(page.all("li")) == 10
    for link, row in zip(links, page.all("li"), strict=True):
        number = env.shop.catalogue.find(link.attributes["value"].upper())
        assert number is not None
        product = env.shop.catalogue[number]
        assert link.text == product.name
        assert row.text.split("\n")[1:3] == [product.name, f"{product.price_text} {product.asin}"]


def test_options_are_named_groups_of_radio_buttons(client: TestClient) -> None:
    env = WebShopEnv(**SHOP)
    task = next(task for task in env.tasks() if len(env.goal(task).options) > 1)
    product = env.shop.catalogue[env.goal(task).product]
    groups = product.options
    visitor = Visitor(client, task)
    visitor.act(f"search[{product.name}]")
    visitor.act(f"click[{product.asin.lower()}]")
    page = visitor.page
    assert [legend.text for legend in page.all("legend")] == list(groups)
    assert [group.attributes for group in page.all("fieldset")] == [{"role": "radiogroup"}] * len(groups)
    assert [radio.text for radio in page.all("button", role="radio")] == [
        v for values in groups.values() for v in values
    ]


def test_the_templates_and_the_style_are_served_from_here(client: TestClient) -> None:
    answer = client.get("/style.css")
    assert answer.headers["content-type"].startswith("text/css")
    templates = Path(__file__).parents[3] / "envs" / "webshop" / "templates"
    assert answer.text == (templates / "style.css").read_text()
    for file in templates.iterdir():
        text = file.read_text()
        assert "http:" not in text
        assert "https:" not in text
        assert "| safe" not in text
        assert "<script" not in text
