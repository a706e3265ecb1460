"""What pages are made of: links, buttons, forms, tables; `apps/templates/page.html` writes them as HTML.

Pages are data, so that every one is accessible in the same way: a control has a label, and a name that no other on its
page has. Everything is text; nothing here is HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from urllib.parse import urlencode

PER_PAGE = 10  # rows of a table


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """Leads to another page."""

    text: str
    to: str
    name: str = ""  # accessible name where the text is not of its own
    is_current: bool = False  # the page that is shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """Does something at once, or after a question."""

    text: str
    to: str
    values: Mapping[str, str] = field(default_factory=dict)  # what is sent along
    name: str = ""  # accessible name where the text is not of its own
    question: str = ""  # asked first, in a dialogue with the buttons Yes and No


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One thing to be filled in or chosen."""

    label: str
    name: str
    kind: Literal["text", "area", "search", "select", "radio", "boxes", "check"] = "text"
    value: str = ""
    options: Sequence[tuple[str, str]] = ()  # (value, text)
    chosen: Sequence[str] = ()  # values of the boxes that are ticked
    hint: str = ""


def choices(values: Sequence[str], nothing: str | None = None) -> list[tuple[str, str]]:
    """Return the options of a list to choose from; `nothing` is the text of the empty value, where there is one."""
    return ([] if nothing is None else [("", nothing)]) + [(value, value) for value in values]


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """Fields and the buttons that send them."""

    kind: ClassVar[str] = "form"
    to: str
    submits: Sequence[tuple[str, str]] = (("", "Save"),)  # (value of "act", text)
    fields: Sequence[Field] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""
    is_get: bool = False  # looks something up, and changes nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a table."""

    cells: Sequence[str | Link]
    buttons: Sequence[Button] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows under headings."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[str | Link]
    rows: Sequence[Row]
    foot: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FactList:
    """Things that are told, each under its name."""

    kind: ClassVar[str] = "facts"
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prose:
    """A text as somebody wrote it."""

    kind: ClassVar[str] = "prose"
    text: str
    heading: str = ""
    is_alert: bool = False  # says what is wrong


@dataclass(frozen=True, kw_only=True, slots=True)
class Nav:
    """Links side by side."""

    kind: ClassVar[str] = "nav"
    name: str
    links: Sequence[Link]
    looks: Literal["tabs", "bar"] = "bar"
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """Buttons side by side."""

    kind: ClassVar[str] = "bar"
    buttons: Sequence[Button]


@dataclass(frozen=True, kw_only=True, slots=True)
class Menu:
    """Buttons that come out when its own is pressed."""

    kind: ClassVar[str] = "menu"
    name: str
    buttons: Sequence[Button]


Part = Form | Table | FactList | Prose | Nav | Bar | Menu


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What a visitor sees below the site's head."""

    title: str
    parts: Sequence[Part]


def address(path: str, /, **values: str | int) -> str:
    """Return a page's address on its site; empty values are left out."""
    given = {name: value for name, value in values.items() if value != ""}
    return f"{path}?{urlencode(given)}" if given else path


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with white space in order and ``(2)``, ``(3)``, ... after those that came before."""
    seen: Counter[str] = Counter()
    told = []
    for name in (" ".join(each.split()) for each in names):
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told


def pager(path: str, total: int, number: int, /, **values: str | int) -> Nav:
    """Return the links to the pages before and after page `number` of a table."""
    first, last = (number - 1) * PER_PAGE + 1, min(total, number * PER_PAGE)
    links = []
    if number > 1:
        links.append(Link(text="Previous page", to=address(path, **values, page=number - 1)))
    if last < total:
        links.append(Link(text="Next page", to=address(path, **values, page=number + 1)))
    told = f"{first} to {last} of {total}" if first <= last else f"None here; {total} in all"
    return Nav(name="Pages", links=links, text=told)
