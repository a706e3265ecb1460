"""UI actions of a user on a page, with elements identified by role and accessible name.

UI actions contain no selectors and no ids. The executor finds the one visible element with the role and exactly the
name at that moment; zero or several matches are an error. The functions in `site.Site.how` create UI actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Verb = Literal["goto", "click", "fill", "select", "check", "press"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """One UI action.

    ``Deed(verb="fill", role="textbox", name="Subject", text="Garden fence")``
    """

    verb: Verb
    role: str = ""  # "" for goto
    name: str = ""  # accessible name; "" for goto
    text: str = ""  # goto: address; fill: new content; select: the option's text; press: key; else ""


def goto(address: str) -> Deed:
    """Type an address."""
    return Deed(verb="goto", text=address)


def click(role: str, name: str) -> Deed:
    """Click on an element; this clears a ticked checkbox."""
    return Deed(verb="click", role=role, name=" ".join(name.split()))


def fill(name: str, text: str, role: str = "textbox") -> Deed:
    """Replace a field's content."""
    return Deed(verb="fill", role=role, name=name, text=text)


def select(name: str, option: str) -> Deed:
    """Choose from a list."""
    return Deed(verb="select", role="combobox", name=name, text=option)


def check(name: str, role: str = "checkbox") -> Deed:
    """Tick a checkbox or choose a radio button; no effect if it is already chosen."""
    return Deed(verb="check", role=role, name=" ".join(name.split()))


def press(role: str, name: str, key: str) -> Deed:
    """Press a key in an element."""
    return Deed(verb="press", role=role, name=name, text=key)


def fill_in(texts: Mapping[str, str]) -> Iterator[Deed]:
    """Fill several text fields, by label."""
    for name, text in texts.items():
        yield fill(name, text)


def search(name: str, words: str) -> Iterator[Deed]:
    """Search by a search box."""
    yield fill(name, words, "searchbox")
    yield press("searchbox", name, "Enter")


def texts(value: object) -> list[str]:
    """Return the texts of an argument that is a list of texts or None."""
    if value is None:
        return []
    assert isinstance(value, list | tuple)
    return [str(each) for each in value]
