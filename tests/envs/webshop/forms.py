"""A browser of a few lines: reads a served page as the standard library's parser does, and submits its forms.

It knows only the content of the page, so that a test that walks with it sees the page of a person or a harness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from starlette.testclient import TestClient

HOST = "http://127.0.0.1:8000"
_VOID = {"meta", "link", "input", "br"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    form: int  # index of its form; -1: none
    text: str = ""

    @property
    def is_on(self) -> bool:
        return "disabled" not in self.attributes


@dataclass
class Page(HTMLParser):
    """The elements of a page, in its order; an element's text is its whole text content."""

    source: str
    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)
    _num_forms: int = 0
    _form: int = -1

    def __post_init__(self) -> None:
        HTMLParser.__init__(self, convert_charrefs=True)
        self.feed(self.source)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"an attribute twice: {tag} {names}"
        if tag == "form":
            self._form, self._num_forms = self._num_forms, self._num_forms + 1
        element = Element(tag, {name: value or "" for name, value in attrs}, self._form)
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag
        if tag == "form":
            self._form = -1

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        found = [element for element in self.elements if element.tag == tag]
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [element for element in found if wanted.items() <= element.attributes.items()]

    def one(self, tag: str, **attributes: str) -> Element:
        (element,) = self.all(tag, **attributes)
        return element

    @property
    def clicks(self) -> list[str]:
        """The clickable elements of the page."""
        return [element.attributes["value"] for element in self.all("button", name="click") if element.is_on]

    @property
    def notice(self) -> str:
        return "".join(element.text for element in self.elements if element.attributes.get("class") == "notice")


class Visitor:
    """One person at one episode."""

    def __init__(self, client: TestClient, task: str = "", **more: str) -> None:
        self.client = client
        answer = client.post("/episodes", data={"task": task, **more})
        assert answer.status_code == 200, answer.text
        self.address = str(answer.url).removeprefix(HOST)
        self.page = Page(answer.text)

    def act(self, action: str) -> Page:
        """Carry out on the page the action in a text; the page must offer it."""
        name, _, rest = action.partition("[")
        if name == "search":
            box = self.page.one("input", name="search")
            return self.submit(box, rest.removesuffix("]"))
        found = [b for b in self.page.all("button", name="click", value=rest.removesuffix("]")) if b.is_on]
        assert found, f"{action} is not on the page, which has {self.page.clicks}"
        return self.submit(found[0], found[0].attributes["value"])

    def submit(self, control: Element, value: str) -> Page:
        """Submit the form of a control with its hidden fields."""
        form = self.page.all("form")[control.form]
        hidden = {
            element.attributes["name"]: element.attributes["value"]
            for element in self.page.all("input", type="hidden")
            if element.form == control.form
        }
        assert form.attributes["method"] == "post"
        target = form.attributes["action"]
        path = target if target.startswith("/") else self.address + target
        return self.read(self.client.post(path, data={**hidden, control.attributes["name"]: value}))

    def look(self) -> Page:
        return self.read(self.client.get(self.address))

    def read(self, answer: Any) -> Page:  # Any: the client's response, of whichever library it is made with
        assert answer.status_code == 200, answer.text
        self.page = Page(answer.text)
        return self.page

    @property
    def state(self) -> dict[str, Any]:  # Any: JSON
        answer: dict[str, Any] = self.client.get(f"{self.address}state").json()
        return answer
