"""Episodes that the web shop's server keeps, and its answers to requests that cannot be met."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from cairn.core.errors import CairnError
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.web import make_app
from cairn.envs.webshop.web_guard import HEADERS, MAX_BODY
from tests.envs.webshop.forms import HOST, Page, Visitor

SHOP: dict[str, Any] = {"num_products": 40, "show_attributes": True}  # Any: settings
JSON = {"content-type": "application/json"}


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(WebShopEnv(**SHOP), capacity=3), base_url=HOST)


def test_tokens_cannot_be_guessed() -> None:
    client = TestClient(make_app(WebShopEnv(**SHOP)), base_url=HOST)
    tokens = [Visitor(client).address.split("/")[2] for _ in range(40)]
    assert min(map(len, tokens)) >= 22  # 16 random bytes
    assert min(len(set(column)) for column in zip(*(token[:21] for token in tokens), strict=True)) > 10


def test_a_server_needs_tasks_and_room() -> None:
    with pytest.raises(CairnError, match="room for an episode"):
        make_app(WebShopEnv(**SHOP), capacity=0)
    with pytest.raises(CairnError, match="expected tasks"):
        make_app(WebShopEnv(num_products=1, split="test"))


def test_the_least_recently_used_episode_is_dropped_and_its_visitor_gets_an_error(client: TestClient) -> None:
    kept, dropped, *_ = visitors = [Visitor(client, "goal/1") for _ in range(3)]
    kept.look()
    visitors.append(Visitor(client, "goal/1"))  # there is room for three
    assert [client.get(visitor.address).status_code for visitor in visitors] == [200, 410, 200, 200]
    page = Page(client.get(dropped.address).text)
    assert page.one("p", role="alert").text == (
        "This episode was dropped: the 3 episodes used last are kept. Start a new one."
    )
    assert client.get(f"{dropped.address}state").json()["error"].startswith("This episode was dropped")
    assert client.post(f"{dropped.address}act", data={"click": "buy now"}).status_code == 410


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "said"),
    [
        ("GET", "/s/nobody/", {}, 404, "There is no such episode"),
        ("GET", "/s/nobody/state", {}, 404, "There is no such episode"),
        ("POST", "/s/nobody/act", {"data": {"click": "buy now"}}, 404, "There is no such episode"),
        ("POST", "/s/nobody/reset", {"json": {"task": "goal/1"}}, 404, "There is no such episode"),
        ("GET", "/elsewhere", {}, 404, "Not Found"),
        ("GET", "/episodes", {}, 405, "Method Not Allowed"),
        ("GET", "EPISODE/act?click=buy+now", {}, 405, "Method Not Allowed"),
        ("POST", "/episodes", {"data": {"task": "goal/x"}}, 404, "There is no task 'goal/x'"),
        ("POST", "/episodes", {"data": {"task": "human/1"}}, 404, "There is no task 'human/1'"),
        ("POST", "/episodes", {"data": {"seed": "-1"}}, 400, "Expected a seed"),
        ("POST", "/episodes", {"json": {"seed": True}}, 400, "Expected a seed"),
        ("POST", "/episodes", {"json": {"task": 3}}, 400, "Expected the id of a task"),
        ("POST", "/episodes", {"json": {"tusk": "goal/1"}}, 400, "Expected no other fields"),
        ("POST", "/episodes", {"json": ["goal/1"]}, 400, "Expected no other fields"),
        ("POST", "/episodes", {"content": "{", "headers": JSON}, 400, "read as"),
        ("POST", "/episodes", {"content": "[" * 60000, "headers": JSON}, 400, "read as"),
        ("POST", "/episodes", {"content": "task=goal/1"}, 415, "Expected the content type"),
        ("POST", "/episodes", {"files": {"task": b"goal/1"}}, 415, "Expected the content type"),
        ("POST", "EPISODE/reset", {"data": {"task": "goal/1"}}, 415, "Expected the content type application/json"),
        ("POST", "EPISODE/act", {"data": {}}, 415, "Expected the content type"),
        ("POST", "EPISODE/act", {"data": {"at": "0"}}, 400, "Expected one of the fields"),
        ("POST", "EPISODE/act", {"data": {"click": "x", "search": "y"}}, 400, "Expected one of the fields"),
        ("POST", "EPISODE/act", {"data": {"click": ["x", "y"]}}, 400, "occurs 2 times"),
        ("POST", "EPISODE/act", {"data": {f"f{i}": "" for i in range(20)}}, 400, "read as"),
    ],
)
def test_a_wrong_request_gets_an_error_and_changes_nothing(
    client: TestClient, method: str, path: str, sent: dict[str, Any], status: int, said: str
) -> None:
    visitor = Visitor(client, "goal/1")
    before = visitor.state
    answer = client.request(method, path.replace("EPISODE/", visitor.address), **sent)
    assert answer.status_code == status
    assert said in (Page(answer.text).one("main").text if answer.text.startswith("<") else answer.json()["error"])
    assert visitor.state == before


def test_the_server_is_guarded(client: TestClient) -> None:
    visitor = Visitor(client, "goal/1")
    before = visitor.state
    act = f"{visitor.address}act"
    answers = [
        client.get(visitor.address, headers={"host": "evil.example"}),
        client.post(act, data={"search": "x"}, headers={"origin": "http://evil.example"}),
        client.post(act, data={"search": "x" * MAX_BODY}),
    ]
    assert [answer.status_code for answer in answers] == [400, 403, 413]
    assert visitor.state == before
    for path in ("/", visitor.address, "/style.css", "/s/nobody/"):
        assert client.get(path).headers["content-security-policy"] == HEADERS["content-security-policy"]
