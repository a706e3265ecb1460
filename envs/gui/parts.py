"""Parts of pages as data: links, buttons, forms, tables.

The template `apps/templates/page.html` renders them. Since pages are data, all are accessible in the same way: a
control has a label, and a name that is unique on its page.
All texts are plain; nothing here is HTML.
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
    """A link to another page."""

    text: str
    to: str
    name: str = ""  # accessible name if the text is not unique
    is_current: bool = False  # links to the current page


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """A button that acts at once, or after a question."""

    text: str
    to: str
    values: Mapping[str, str] = field(default_factory=dict)  # sent with the request
    name: str = ""  # accessible name if the text is not unique
    question: str = ""  # asked first, in a dialogue with the buttons Yes and No


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A form field."""

    label: str
    name: str
    kind: Literal["text", "area", "search", "select", "radio", "boxes", "check"] = "text"
    value: str = ""
    options: Sequence[tuple[str, str]] = ()  # (value, text)
    chosen: Sequence[str] = ()  # values of the boxes that are ticked
    hint: str = ""


def choices(values: Sequence[str], nothing: str | None = None) -> list[tuple[str, str]]:
    """Return the options of a list; `nothing` is the text of the empty value, if there is one."""
    return ([] if nothing is None else [("", nothing)]) + [(value, value) for value in values]


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """A form: fields and submit buttons."""

    kind: ClassVar[str] = "form"
    to: str
    submits: Sequence[tuple[str, str]] = (("", "Save"),)  # (value of "act", text)
    fields: Sequence[Field] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""
    is_get: bool = False  # the form only looks something up and changes nothing


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
    """A list of names with values."""

    kind: ClassVar[str] = "facts"
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prose:
    """A text by a person."""

    kind: ClassVar[str] = "prose"
    text: str
    heading: str = ""
    is_alert: bool = False  # an error message


@dataclass(frozen=True, kw_only=True, slots=True)
class Nav:
    """A row of links."""

    kind: ClassVar[str] = "nav"
    name: str
    links: Sequence[Link]
    looks: Literal["tabs", "bar"] = "bar"
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A row of buttons."""

    kind: ClassVar[str] = "bar"
    buttons: Sequence[Button]


@dataclass(frozen=True, kw_only=True, slots=True)
class Menu:
    """A menu of buttons that opens by its own button."""

    kind: ClassVar[str] = "menu"
    name: str
    buttons: Sequence[Button]


Part = Form | Table | FactList | Prose | Nav | Bar | Menu


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The content of a page below the site's header."""

    title: str
    parts: Sequence[Part]


def address(path: str, /, **values: str | int) -> str:
    """Return a page's address on its site; empty values are omitted."""
    given = {name: value for name, value in values.items() if value != ""}
    return f"{path}?{urlencode(given)}" if given else path


def distinct(names: Sequence[str]) -> list[str]:
    """Return unique names, with normalized white space.

    Repeated names get ``(2)``, ``(3)``, ... at the end.
    """
    seen: Counter[str] = Counter()
    unique = []
    for name in (" ".join(each.split()) for each in names):
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def pager(path: str, total: int, number: int, /, **values: str | int) -> Nav:
    """Return the links to the pages before and after page `number` of a table."""
    first, last = (number - 1) * PER_PAGE + 1, min(total, number * PER_PAGE)
    links = []
    if number > 1:
        links.append(Link(text="Previous page", to=address(path, **values, page=number - 1)))
    if last < total:
        links.append(Link(text="Next page", to=address(path, **values, page=number + 1)))
    text = f"{first} to {last} of {total}" if first <= last else f"None here; {total} in all"
    return Nav(name="Pages", links=links, text=text)
