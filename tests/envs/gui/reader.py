"""The applications without a browser: pages as trees, elements by role and accessible name, forms sent as browsers do.

Quick enough to play every task. It knows only the features that our pages use: `test_browser.py` plays in Chromium.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin

from starlette.testclient import TestClient

from cairn.envs.gui.apps import sites
from cairn.envs.gui.site import site
from cairn.envs.gui.ui_actions import Deed
from cairn.envs.office.world import World

_EMPTY = {"input", "meta", "link", "br"}
_INPUTS = {"search": "searchbox", "checkbox": "checkbox", "radio": "radio", "text": "textbox"}


@dataclass(eq=False)
class Node:
    """An element, with the changes made to it since the page was loaded."""

    tag: str
    attrs: dict[str, str]
    parent: Node | None = None
    children: list[Node | str] = field(default_factory=list)
    is_open: bool = False  # of dialogues and popovers

    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text() for each in self.children)

    def every(self) -> Iterator[Node]:
        yield self
        for each in self.children:
            if isinstance(each, Node):
                yield from each.every()

    def above(self) -> Iterator[Node]:
        here: Node | None = self
        while here is not None:
            yield here
            here = here.parent

    def role(self) -> str:
        if self.tag == "input":
            return _INPUTS.get(self.attrs.get("type", "text"), "")
        roles = {"a": "link", "button": "button", "select": "combobox", "textarea": "textbox"}
        return roles.get(self.tag, self.attrs.get("role", ""))

    def is_seen(self) -> bool:
        return not any((n.tag == "dialog" or "popover" in n.attrs) and not n.is_open for n in self.above())


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self._at = Node("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs}, self._at)
        self._at.children.append(node)
        if tag not in _EMPTY:
            self._at = node

    def handle_endtag(self, tag: str) -> None:
        assert self._at.tag == tag, f"<{self._at.tag}> is ended by </{tag}>"
        assert self._at.parent is not None
        self._at = self._at.parent

    def handle_data(self, data: str) -> None:
        self._at.children.append(data)


class Reader:
    """One visitor of the applications, whose pages show one world."""

    def __init__(self, world: World) -> None:
        self._client = TestClient(site(sites(), lambda request: world))
        self.address, self.status, self.html = "", 0, ""
        self.root = Node("", {})

    def go(self, address: str, posted: list[tuple[str, str]] | None = None) -> None:
        """Open an address of any host, or send a form there."""
        to = urljoin(self.address, address)
        if posted is None:
            answer = self._client.get(to)
        else:
            data: dict[str, list[str]] = {}
            for name, value in posted:
                data.setdefault(name, []).append(value)
            answer = self._client.post(to, data=data)
        self.address, self.status, self.html = str(answer.url), answer.status_code, answer.text
        tree = _Tree()
        tree.feed(answer.text)
        self.root = tree.root

    def elements(self) -> dict[tuple[str, str], list[Node]]:
        """Return all that can be acted on and seen, by role and name."""
        found: dict[tuple[str, str], list[Node]] = {}
        for node in self.root.every():
            if node.role() and node.is_seen() and node.attrs.get("type") != "hidden":
                found.setdefault((node.role(), self.name_of(node)), []).append(node)
        return found

    def name_of(self, node: Node) -> str:
        """Return an element's accessible name."""
        if "aria-label" in node.attrs:
            return " ".join(node.attrs["aria-label"].split())
        if node.tag in ("a", "button"):
            return " ".join(node.text().split())
        labels = [each for each in self.root.every() if each.tag == "label"]
        own = [each for each in labels if each in node.above() or each.attrs.get("for") == node.attrs.get("id", "-")]
        return " ".join(own[0].text().split()) if own else ""

    def words(self) -> str:
        """Return all texts of the page, with spaces between those of different elements."""
        pieces = (each for node in self.root.every() for each in node.children if isinstance(each, str))
        return " ".join(" ".join(pieces).split())

    def alerts(self) -> list[str]:
        """Return the errors on the page."""
        return [" ".join(node.text().split()) for node in self.root.every() if node.attrs.get("role") == "alert"]

    def do(self, deed: Deed) -> None:
        """Carry out one deed; the element must be the only one of its role and name."""
        if deed.verb == "goto":
            self.go(deed.text)
            return
        found = self.elements().get((deed.role, deed.name), [])
        assert len(found) == 1, f"{deed}: {len(found)} such elements at {self.address}: {sorted(self.elements())}"
        node = found[0]
        if deed.verb == "fill":
            node.attrs["value"], node.children = deed.text, [deed.text]
        elif deed.verb == "select":
            self._select(node, deed.text)
        elif deed.verb == "check":
            self._check(node)
        elif deed.verb == "press":
            assert deed.text == "Enter"
            self._send(node, None)
        else:
            self._click(node)

    def _select(self, node: Node, text: str) -> None:
        options = [each for each in node.every() if each.tag == "option"]
        assert [each.text() for each in options].count(text) == 1, f"{text!r} in {[each.text() for each in options]}"
        for each in options:
            each.attrs.pop("selected", None)
            if each.text() == text:
                each.attrs["selected"] = ""

    def _check(self, node: Node) -> None:
        for each in self.root.every() if node.role() == "radio" else ():
            if each.attrs.get("name") == node.attrs["name"]:
                each.attrs.pop("checked", None)
        node.attrs["checked"] = ""

    def _click(self, node: Node) -> None:
        opens = node.attrs.get("data-dialog") or node.attrs.get("popovertarget")
        if node.tag == "a":
            self.go(node.attrs["href"])
        elif node.role() == "checkbox":
            node.attrs.pop("checked") if "checked" in node.attrs else node.attrs.update(checked="")
        elif opens:
            next(each for each in self.root.every() if each.attrs.get("id") == opens).is_open = True
        elif "data-close" in node.attrs:
            next(each for each in node.above() if each.tag == "dialog").is_open = False
        else:
            self._send(node, node)

    def _send(self, node: Node, button: Node | None) -> None:
        form = next(each for each in node.above() if each.tag == "form")
        sent = [pair for each in form.every() for pair in _sent(each, button)]
        if form.attrs["method"] == "post":
            self.go(form.attrs["action"], sent)
        else:
            self.go(f"{form.attrs['action'].partition('?')[0]}?{urlencode(sent)}")


def _sent(node: Node, button: Node | None) -> Iterator[tuple[str, str]]:
    """Yield the form fields of an element."""
    name, kind = node.attrs.get("name", ""), node.attrs.get("type", "")
    if not name or (node.tag == "button" and node is not button):
        return
    if node.tag == "select":
        options = [each for each in node.every() if each.tag == "option"]
        chosen = next((each for each in options if "selected" in each.attrs), options[0] if options else None)
        if chosen is not None:
            yield name, chosen.attrs["value"]
    elif node.tag == "textarea":
        yield name, node.text().removeprefix("\n").replace("\n", "\r\n")
    elif kind not in ("checkbox", "radio") or "checked" in node.attrs:
        yield name, node.attrs.get("value", "")
