"""The pages: generic checks of every page, and checks by hand of their content, errors and links."""

from __future__ import annotations

import re
from collections import Counter, deque
from functools import cache
from html import escape, unescape
from urllib.parse import urljoin

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from cairn.envs.gui.apps import sites
from cairn.envs.gui.parts import distinct
from cairn.envs.gui.site import MAX_BODY, site
from cairn.envs.gui.ui_actions import click, fill, search, select
from cairn.envs.office.furniture import HOSTILE
from cairn.envs.office.generator import populate
from cairn.envs.office.world import DESK, World
from tests.envs.gui.reader import Node, Reader
from tests.envs.office.desk import desk

MOST_OF_A_KIND = 4  # pages of one path that are looked at
each_site = pytest.mark.parametrize("name", sites())


@cache
def crawled(name: str) -> tuple[World, bytes, tuple[Reader, ...]]:
    """A world and its state before a visitor has followed every link of a site, and the pages that were seen."""
    world = populate(5, DESK)
    state, queue, seen = world.state(), deque([f"http://{name}/"]), set[str]()
    kinds: Counter[str] = Counter()
    pages = []
    while queue:
        address = queue.popleft()
        kind = re.sub(r"[a-z]-[0-9a-z]{5}\b", "X", address.partition("?")[0])
        if address in seen or kinds[kind] >= MOST_OF_A_KIND or not address.startswith(f"http://{name}/"):
            continue
        seen.add(address)
        kinds[kind] += 1
        reader = Reader(world)
        reader.go(address)
        pages.append(reader)
        queue += [urljoin(address, unescape(link)) for link in re.findall(r'<a href="([^"]*)"', reader.html)]
    return world, state, tuple(pages)


@each_site
def test_every_page_can_be_shown_and_looking_changes_nothing(name: str) -> None:
    world, state, pages = crawled(name)
    assert len(pages) >= 8
    assert {page.status for page in pages} == {200}
    assert world.state() == state


@each_site
def test_every_control_has_a_name_of_its_own_on_its_page(name: str) -> None:
    for page in crawled(name)[2]:
        for (role, reported), found in page.elements().items():
            assert reported, (page.address, role)
            assert len(found) == 1 or role in ("alert", "status"), (page.address, role, reported)


@each_site
def test_texts_of_records_are_escaped(name: str) -> None:
    for page in crawled(name)[2]:
        assert "<script>" not in page.html
        assert "<img" not in page.html
        tags = Counter(node.tag for node in page.root.every())
        assert (tags["script"], tags["h1"], tags["main"], tags["body"]) == (1, 1, 1, 1)


def test_hostile_texts_are_shown_as_they_are() -> None:
    shown = "".join(page.html for page in crawled("mail")[2])
    assert any(escape(text, quote=False) in shown.replace("&#34;", '"').replace("&#39;", "'") for text in HOSTILE)
    reader = Reader(populate(5, DESK))
    reader.go("http://sheets/sheet?name=Suppliers")
    for deed in search("Search rows", HOSTILE[0]):
        reader.do(deed)
    assert HOSTILE[0] in [cell.text().strip() for cell in reader.root.every() if cell.tag == "td"]


def test_characters_that_html_cannot_contain_are_replaced() -> None:
    world = desk()
    world.call("files", "write", {"path": "/odd.txt", "text": "a\x00b\x1b[31m\u0085"})
    reader = Reader(world)
    reader.go("http://files/file?path=/odd.txt")
    assert "a\ufffdb\ufffd[31m\ufffd" in reader.html


@each_site
def test_pages_take_nothing_from_elsewhere_and_are_not_kept(name: str) -> None:
    answer = TestClient(site(sites(), lambda request: desk())).get(f"http://{name}/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    links = re.findall(r'(?:href|src|action)="(https?://[^"]*)"', answer.text)
    assert set(links) == {f"http://{host}/" for host in sites()}


def test_the_host_decides_the_site_and_an_unknown_host_gets_an_error() -> None:
    client = TestClient(site(sites(), lambda request: desk()))
    assert "<title>Mail - Mail</title>" in client.get("http://mail:8080/").text
    assert "<title>Mail - Mail</title>" in client.get("http://MAIL/").text
    answer = client.get("http://bank/")
    assert (answer.status_code, "There are: calendar, contacts" in answer.text) == (404, True)
    assert client.get("http://mail/nothing").status_code == 404
    assert client.get("http://mail/mail/m9").status_code == 404
    assert "there is no mail" in client.get("http://mail/mail/m9").text


def test_each_request_is_served_in_its_own_world() -> None:
    worlds = {"a": desk(), "b": desk()}

    def world_of(request: Request) -> World:
        return worlds[request.headers["x-episode"]]

    client = TestClient(site(sites(), world_of))
    client.post("http://contacts/groups", data={"group": "Only in a"}, headers={"x-episode": "a"})
    assert "Only in a" in client.get("http://contacts/groups", headers={"x-episode": "a"}).text
    assert "Only in a" not in client.get("http://contacts/groups", headers={"x-episode": "b"}).text


def test_a_completed_form_redirects_with_a_message() -> None:
    client = TestClient(site(sites(), lambda request: desk()), follow_redirects=False)
    answer = client.post("http://mail/mail/m1/move", data={"folder": "archive", "back": "/?folder=inbox"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?folder=inbox&done=The+mail+was+moved.")
    assert 'role="status"' in client.get("http://mail/?done=The+mail+was+moved.").text
    assert 'role="status"' not in client.get("http://mail/?done=Sign+in+again").text  # nobody's words but ours
    for back in ("http://bank/", "//bank/", "/\\bank/", "javascript:1"):
        answer = client.post("http://mail/mail/m1/move", data={"folder": "archive", "back": back})
        assert answer.headers["location"].startswith("/?done=")


def test_a_rejected_form_returns_with_the_reason_and_the_entered_values() -> None:
    world = desk()
    reader, state = Reader(world), world.state()
    reader.go("http://calendar/new")
    for deed in (fill("Title", "Lunch"), fill("Start", "soon"), fill("Notes", "</textarea>\nSoup"),
                 click("button", "Create event")):  # fmt: skip
        reader.do(deed)
    assert (reader.status, world.state()) == (422, state)
    assert reader.alerts() == ["start must be a date and time like '2031-05-04T09:30'; got 'soon'"]
    found = reader.elements()
    assert found["textbox", "Title"][0].attrs["value"] == "Lunch"
    assert found["textbox", "Notes"][0].text().strip() == "</textarea>\nSoup"
    for deed in (fill("Start", "2031-05-08 12:00"), click("button", "Create event")):
        reader.do(deed)
    assert (reader.status, reader.alerts()) == (200, [])
    assert [event.title for event in world.calendar.events.values()][-1] == "Lunch"


@pytest.mark.parametrize(
    ("address", "form", "reason"),
    [
        ("http://mail/compose", {"act": "send", "to": "nobody", "subject": "A", "body": ""}, "mail addresses like"),
        ("http://files/edit?path=/none.txt", {"text": ""}, "there is no file"),
        ("http://files/delete?path=/Docs", {}, "is not empty"),
        ("http://issues/issue/i3/edit", {"priority": "low"}, "is closed; open it again"),
        ("http://issues/close?name=Heron", {"milestone": "Spring", "closed": "yes"}, "that are not closed"),
        ("http://sheets/row/w1", {"cell0": "Paint", "cell1": "ten", "cell2": ""}, "Cost must be a number"),
        ("http://settings/user?address=ana@home.example", {"role": "viewer"}, "one active administrator"),
        ("http://settings/site", {"Language": "Dutch"}, "Language must be one of"),
        (
            "http://payments/pay",
            {"account_id": "a1", "payee_id": "p1", "amount": "1e3", "note": ""},
            "like 12 or 12.50",
        ),
        ("http://payments/pay", {"account_id": "a1", "payee_id": "p1", "amount": "60"}, "may still pay"),
        ("http://contacts/groups", {"group": "Choir"}, "already"),
    ],
)
def test_forbidden_changes_return_an_error_and_change_nothing(address: str, form: dict[str, str], reason: str) -> None:
    world = desk()
    state = world.state()
    answer = TestClient(site(sites(), lambda request: world)).post(address, data=form)
    assert answer.status_code in (404, 422)
    assert 'role="alert"' in answer.text
    assert reason in unescape(answer.text)
    assert world.state() == state


def test_odd_requests_are_refused() -> None:
    client = TestClient(site(sites(), lambda request: desk()))
    assert client.post("http://mail/compose", content=b"x" * (MAX_BODY + 1)).status_code == 413
    assert client.post("http://mail/compose", content=b"\xff\xfe").status_code == 400
    assert client.post("http://mail/compose", content=b"&".join(b"a=1" for _ in range(400))).status_code == 400
    assert client.post("http://mail/thread").status_code == 405
    assert client.get("http://mail/?page=-1&folder=x").status_code == 404  # no such folder
    assert client.get("http://mail/?page=99999999999").status_code == 200


def test_only_post_requests_change_the_state() -> None:
    world = desk()
    client, state = TestClient(site(sites(), lambda request: world)), world.state()
    for method in ("GET", "HEAD"):
        for path in ("mail/mail/m2/move?folder=trash", "calendar/event/e1/cancel", "files/delete?path=/top.txt"):
            client.request(method, f"http://{path}")
    assert client.put("http://calendar/event/e1/cancel").status_code == 405
    assert world.state() == state


def test_lists_have_pages_with_links_to_the_next_and_previous_page() -> None:
    world = populate(5, DESK)
    reader, seen = Reader(world), list[str]()
    reader.go("http://issues/?order=title")
    while True:
        rows = [name for role, name in reader.elements() if role == "link" and ", in " in name]
        assert 1 <= len(rows) <= 10
        seen += rows
        if ("link", "Next page") not in reader.elements():
            break
        reader.do(click("link", "Next page"))
    assert [name.rpartition(", in ")[0] for name in seen] == sorted(each.title for each in world.issues.issues.values())
    before = reader.address
    reader.do(click("link", "Previous page"))
    assert reader.address != before


def test_filters_and_orders_stay_when_pages_are_turned() -> None:
    world = populate(5, DESK)
    reader = Reader(world)
    reader.go("http://sheets/sheet?name=Expenses")
    for deed in (select("Column", "Status"), fill("Is exactly", "open"), click("button", "Filter")):
        reader.do(deed)
    for _ in range(2):  # rising, then falling
        reader.do(click("link", "Sort by Amount"))
    found, prices = list[list[str]](), list[float]()
    while True:
        found += [[cell.text().strip() for cell in row.every() if cell.tag == "td"] for row in _rows(reader)]
        if ("link", "Next page") not in reader.elements():
            break
        reader.do(click("link", "Next page"))
    prices = [float(cells[2]) for cells in found]
    assert {cells[4] for cells in found} == {"open"}
    assert prices == sorted(prices, reverse=True)
    assert f"Sum of Amount: {sum(round(100 * price) for price in prices) / 100:.2f}" in reader.html


def _rows(reader: Reader) -> list[Node]:
    return [node for node in reader.root.every() if node.tag == "tr" and any(c.tag == "td" for c in node.every())]


def test_a_dialogue_asks_before_something_is_gone() -> None:
    world = desk()
    reader = Reader(world)
    reader.go("http://sheets/sheet?name=Costs")
    assert ("button", "Yes") not in reader.elements()
    reader.do(click("button", "Delete: Paint, 12.50"))
    reader.do(click("button", "No"))
    assert ("button", "Yes") not in reader.elements()
    assert "w1" in world.sheets.rows
    reader.do(click("button", "Delete: Paint, 12.50"))
    reader.do(click("button", "Yes"))
    assert "w1" not in world.sheets.rows


def test_a_menu_shows_its_buttons_when_it_is_opened() -> None:
    reader = Reader(desk())
    reader.go("http://mail/mail/m1")
    assert ("button", "Remove label home") not in reader.elements()
    reader.do(click("button", "More actions"))
    assert ("button", "Remove label home") in reader.elements()


def test_an_unfinished_wizard_is_nothing_but_its_address() -> None:
    world = desk()
    reader, state = Reader(world), world.state()
    reader.go("http://settings/plan/1")
    for deed in (fill("Name", "Vault"), select("What", "mail"), click("button", "Next")):
        reader.do(deed)
    assert "name=Vault&part=mail" in reader.address
    reader.do(fill("Begins at", "05:00"))
    reader.do(click("button", "Next"))
    again = Reader(world)
    again.go(reader.address)
    assert again.html == reader.html
    reader.do(click("link", "Back"))
    assert reader.elements()["textbox", "Begins at"][0].attrs["value"] == "05:00"
    assert world.state() == state


def test_a_wizards_step_needs_valid_answers_to_continue() -> None:
    world = desk()
    reader = Reader(world)
    reader.go("http://settings/invite/1")
    for deed in (fill("Name", "Bo"), fill("Address", "Bo at home"), click("button", "Next")):
        reader.do(deed)
    assert reader.alerts()[0].startswith("address must be a mail address like")
    reader.do(click("link", "Back"))
    for deed in (fill("Address", "sam@home.example"), *[click("button", "Next")] * 3):
        reader.do(deed)
    reader.do(click("button", "Send invitation"))
    assert reader.alerts() == ["there is a user with the address sam@home.example already"]
    assert len(world.settings.users) == 3


def test_equal_names_on_a_page_are_numbered() -> None:
    assert distinct(["A", "B", "A  ", "A"]) == ["A", "B", "A (2)", "A (3)"]
