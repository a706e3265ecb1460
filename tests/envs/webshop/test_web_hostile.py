"""Products whose texts attack the page: every page stays the page that it is, shows them as they are, sells them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cairn.envs.webshop import env as env_module
from cairn.envs.webshop.catalogue import make_catalogue
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.goals import Goals
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.web import make_app
from tests.envs.webshop.forms import HOST, Page, Visitor

ATTACKS = [
    "<script>alert(1)</script>",
    "</title></main></form><script src=//evil.example></script>",
    '" autofocus onfocus="alert(1)" x=\'',
    "' onclick='alert(1)' <img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}{% include 'base.html' %}{# #}${7*7}",
    "<!-- --><![CDATA[ ]]><style>*{display:none}</style>&lt;b&gt;&#60;",
    "\u202eevil\u2066 \x00\x08\x1b[2J \ud800 \x85\u2028.",
    "<input type=hidden name=at value=0><button name=click value='buy now'>",
    "x" * 3000,
]
SHOWN = {  # the text before the attack on each kind of page; "find N" is the instruction
    "start": [], "search": ["find {}"], "results": ["thing", "find {}"], "item": ["thing", "kind", "find {}"],
    "description": ["about", "thing"], "features": ["first", "second"], "reviews": ["thing"],
    "attributes": ["good", "category", "query", "path"], "done": ["thing", "kind"],
}  # fmt: skip


def plain(text: str) -> str:
    return f"plain {len(text)}"


def product(number: int, attack: str, asin: str) -> Product:
    return Product(
        asin=asin, name=f"thing {attack}", description=f"about {attack}", prices=(10.0,),
        bullets=(f"first {attack}", f"second {attack}"), attributes=(f"good {attack}",),
        options={f"kind {attack}": (option(attack), "other"), "size": ("small",)}, category=f"category {attack}",
        query=f"query {attack}", product_category=f"path {attack}", image=f"http://evil.example/{attack}",
        instruction=f"find {number} {attack}", instruction_attributes=(f"good {attack}",),
    )  # fmt: skip


def option(attack: str) -> str:
    """Return the attack as a value that can be chosen: the text shop takes lower case without square brackets."""
    return f"value {attack}".lower().replace("[", "(").replace("]", ")")


def shop_of(folder: Path, attacks: list[str], monkeypatch: pytest.MonkeyPatch) -> WebShopEnv:
    products = [product(number, attack, f"B{number:09d}") for number, attack in enumerate(attacks)]
    catalogue = make_catalogue(folder, lambda: products)
    shop = Shop(catalogue, Goals(catalogue))
    monkeypatch.setattr(env_module, "open_shop", lambda *_: shop)
    return WebShopEnv(split="all", show_attributes=True)


def tour(env: WebShopEnv, number: int) -> list[tuple[str, Page]]:
    """Visit every kind of page of a product, buying it with the attack among its options."""
    task = next(task for task in env.tasks() if env.goal(task).product == number)
    client = TestClient(make_app(env, task), base_url=HOST)
    start = Page(client.get("/").text)
    visitor = Visitor(client, task)
    pages = [("start", start), ("search", visitor.page)]
    pages.append(("results", visitor.act("search[<r>]")))
    visitor.act(f"click[b{number:09d}]")
    radio = visitor.page.all("button", role="radio")[0]
    pages.append(("item", visitor.submit(radio, radio.attributes["value"])))
    for name in ("description", "features", "reviews", "attributes"):
        pages.append((name, visitor.act(f"click[{name}]")))
        visitor.act("click[< prev]")
    pages.append(("done", visitor.act("click[buy now]")))
    assert visitor.state["terminated"]
    assert list(visitor.state) == list(Visitor(client, task).state)
    return pages


def frame(page: Page) -> list[tuple[str, dict[str, str | None], int]]:
    """Return a page without its texts: elements, and attributes but for values."""
    return [(e.tag, {**e.attributes, "value": "" if "value" in e.attributes else None}, e.form) for e in page.elements]


def shown(text: str) -> str:
    """Return a text as a page shows it."""
    return "".join("\ufffd" if c in "\x00\x08\x1b\ud800\x85" else c for c in text)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=[attack[:12] for attack in ATTACKS])
def test_a_hostile_product_has_the_pages_of_a_harmless_one(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = tour(shop_of(tmp_path / "hostile", ATTACKS, monkeypatch), number)
    harmless = tour(shop_of(tmp_path / "harmless", [plain(attack) for attack in ATTACKS], monkeypatch), number)
    attack = shown(ATTACKS[number])
    for (name, page), (_, expected) in zip(hostile, harmless, strict=True):
        assert frame(page) == frame(expected), name
        for word in SHOWN[name]:
            assert f"{word.format(number)} {attack}" in page.one("html").text, name


def test_choosing_a_hostile_option_on_the_page_is_choosing_it_in_the_text_shop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = shop_of(tmp_path / "shop", ATTACKS, monkeypatch)
    text = shop_of(tmp_path / "shop", ATTACKS, monkeypatch)
    for number, attack in enumerate(ATTACKS):
        visitor = Visitor(TestClient(make_app(env), base_url=HOST), "goal/0")
        text.reset(options={"task": "goal/0"})
        for action in ("search[<r>]", f"click[b{number:09d}]"):
            visitor.act(action)
            text.step(action)
        radio = visitor.page.all("button", role="radio")[0]
        visitor.submit(radio, radio.attributes["value"])
        text.step(f"click[{option(attack)}]")
        assert text.session.options == {f"kind {attack}": option(attack)}
        assert visitor.state["anchor"] == text.anchor()
        assert visitor.state["action"] == f"click[{option(attack)}]"


@pytest.mark.parametrize("attack", ATTACKS)
def test_posted_text_is_escaped_in_the_answer(attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = shop_of(tmp_path / "shop", ["harmless"], monkeypatch)
    client = TestClient(make_app(env), base_url=HOST)
    answer = client.post(
        "/episodes", content=json.dumps({"task": attack}), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 404
    assert [element.tag for element in Page(answer.text).elements].count("a") == 1
    assert not {"script", "img", "input", "button"} & {element.tag for element in Page(answer.text).elements}
    visitor = Visitor(client, "goal/0")
    for name in ("search", "click"):
        sent = client.post(f"{visitor.address}act", data={name: shown(attack)})
        assert not {"script", "img", "style"} & {element.tag for element in Page(sent.text).elements}
