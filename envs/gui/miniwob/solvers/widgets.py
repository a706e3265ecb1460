"""Solvers of pages with tabs, menus, trees, sliders, calendars and search results."""

from __future__ import annotations

import re
from datetime import datetime

from cairn.envs.gui.accessibility import AccessibilityNode, View
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.miniwob.sight import Sight, Solvers, click, click_at, drag, fill, middle, press, submit


def _named_tab(sight: Sight) -> GuiCall:
    return click(sight.one("link", sight.match(r"Click on (.*)\.$")[0]))


def _search_tabs(sight: Sight) -> GuiCall:
    """Click on the link if it is visible, else open the next tab."""
    if links := sight.all(text=sight.quoted[0], look="span.alink"):
        return click(links[0])
    tabs = sight.all("tab")
    at = next((i for i, tab in enumerate(tabs) if {"selected", "expanded"} & set(tab.states)), -1)
    return click(tabs[(at + 1) % len(tabs)])


def _expand(sight: Sight) -> GuiCall:
    section = sight.one("tab")
    if "expanded" in section.states:
        return submit(sight)
    return click(section)


def _menu(sight: Sight) -> GuiCall:
    """Hover over one item after another; click on the last."""
    path = sight.match(r"Select (.*)$")[0].split(">")
    shown = [item for item in path if sight.all("menuitem", item)]
    item = sight.one("menuitem", shown[-1])
    return click(item) if shown[-1] == path[-1] else GuiCall(name="hover", arguments={"bid": item.bid})


def _button_menu(sight: Sight) -> GuiCall:
    items = sight.all("menuitem")
    if not items:
        return click(sight.one("button", "Menu"))
    icons = sight.all(look="span.ui-icon")  # the first one is in the goal, if the goal contains no name
    found = [item for item in items if item.name in sight.quoted[1:]]
    if len(sight.quoted) == 1:
        found = [icon for icon in icons[1:] if _kind(icon) == _kind(icons[0])]
    if found:
        return click(found[0])
    parent = sight.one("menuitem", "Playback")
    return GuiCall(name="hover", arguments={"bid": parent.bid})


def _kind(node: AccessibilityNode) -> str:
    return next(state for state in node.states if state.startswith("span."))


def _pie(sight: Sight) -> GuiCall:
    """Open the pie at its centre, then click on the piece."""
    labels = sight.all(text=sight.quoted[0], look="tspan")
    x, y = middle(labels[0])
    is_open = labels[0].box[3] > 10
    return click_at(x, y) if is_open else click_at(80, 130)


def _tree(sight: Sight) -> GuiCall:
    """Click on the name if it is visible, else open the first closed folder."""
    for kind in ("span.file", "span.folder"):
        if found := sight.all(text=sight.quoted[0], look=kind):
            return click(found[0])
    return click(sight.one(look="div.expandable-hitarea"))


def _phone_book(sight: Sight) -> GuiCall:
    name, what = sight.match(r"Find (.*) in the contact book and click on their (.*)\.")
    if not sight.all("heading", name):
        return click(sight.one("link", ">"))
    label = {"phone number": "Phone:", "email": "Email:", "address": "Address:"}[what]
    at = sight.things.index(sight.one(text=label, look="span.property-name"))
    return click(next(node for node in sight.things[at:] if node.role == "link"))


def _search(sight: Sight) -> GuiCall:
    text, place = sight.quoted[0], sight.numbers[0]
    field = sight.one("textbox")
    if field.value != text:
        return fill(field, text)
    results = sight.all("link", look="a.search-title") or [
        node for node in sight.all("link") if not re.fullmatch(r"\d|<|>|First|Last", node.name)
    ]
    if not results:
        return click(sight.one("button", "Search"))
    page = (place - 1) // 3 + 1
    if page != _page_shown(sight, page):
        return click(sight.one("link", str(page)))
    return click(results[(place - 1) % 3])


def _page_shown(sight: Sight, wanted: int) -> int:
    """Return the current page of results: the wanted one if its link was clicked last, else 0.

    The first page counts as current if it is wanted.
    """
    bid = sight.one("link", str(wanted)).bid
    return wanted if wanted == 1 or sight.done[-1] == f"click('{bid}')" else 0


def _value(view: View, at: int) -> int:
    """Return the number after a slider's handle."""
    return next(int(node.name) for node in view.nodes[at:] if node.role == "text" and re.fullmatch(r"-?\d+", node.name))


def _handles(view: View) -> list[int]:
    return [at for at, node in enumerate(view.nodes) if "ui-slider-handle" in " ".join(node.states)]


def _slide(sight: Sight, which: int, wanted: int) -> GuiCall | None:
    """Return the next call that moves a slider; None: it has the wanted value.

    Learns the value of a pixel from a slider's end, drags to the estimated position, and makes the last steps by key.
    """
    known: dict[int, tuple[float, float]] = {}
    for view in (*sight.past, sight.view):
        at = _handles(view)[which]
        known[_value(view, at)] = middle(view.nodes[at])
    handle = sight.view.nodes[_handles(sight.view)[which]]
    value = _value(sight.view, _handles(sight.view)[which])
    if value == wanted:
        return None
    if abs(value - wanted) <= 2:
        return press(handle, "ArrowRight" if value < wanted else "ArrowLeft")
    low, high = min(known), max(known)
    if low == high:
        return press(handle, "End" if len(sight.past) % 2 == 0 else "Home")
    share = (wanted - low) / (high - low)
    start, end = known[low], known[high]
    target = (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
    return drag(middle(handle), target)


def _slider(sight: Sight) -> GuiCall:
    return _slide(sight, 0, sight.numbers[0]) or submit(sight)


def _sliders(sight: Sight) -> GuiCall:
    for which, wanted in enumerate(sight.numbers):
        if call := _slide(sight, which, wanted):
            return call
    return submit(sight)


def _form(sight: Sight) -> GuiCall:
    if call := _slide(sight, 0, sight.numbers[0]):
        return call
    box = sight.all("checkbox")[sight.numbers[1] - 1]
    return submit(sight) if "checked" in box.states else click(box)


def pick_date(sight: Sight, field: AccessibilityNode, day: datetime) -> GuiCall | None:
    """Open the calendar, turn to the month, and click on the day; None: the field has the date."""
    if field.value == f"{day:%m/%d/%Y}":
        return None
    months = sight.all(look="span.ui-datepicker-month")
    if not months:
        return click(field)
    year = sight.text_of(sight.one(look="span.ui-datepicker-year"))
    shown = datetime.strptime(f"{sight.text_of(months[0])} {year}", "%B %Y")
    if (shown.year, shown.month) == (day.year, day.month):
        return click(sight.one("link", str(day.day)))
    return click(sight.one("link", "Prev" if shown > day else "Next"))


def _date(sight: Sight) -> GuiCall:
    day = datetime.strptime(sight.match(r"Select (\S+) as the date")[0], "%m/%d/%Y")
    return pick_date(sight, sight.one("textbox"), day) or submit(sight)


def _greatest(sight: Sight) -> GuiCall:
    """Turn over the cards one by one, then open the one with the greatest number and submit."""
    cards = _cards(sight)
    if len(sight.past) < len(cards):
        return click(cards[len(sight.past)])
    shown: dict[int, int] = {}
    for view in (*sight.past, sight.view):
        seen = Sight(view, "")
        shown |= {at: int(text) for at, card in enumerate(_cards(seen)) if (text := seen.text_of(card))}
    best = max(shown, key=lambda at: shown[at])
    return submit(sight) if sight.text_of(cards[best]) else click(cards[best])


def _cards(sight: Sight) -> list[AccessibilityNode]:
    """Return the face-down cards and the number of the open one, in order."""
    found = sight.all(look="div.card") + [node for node in sight.all(look="span.card-value") if node.box[2]]
    return sorted(found, key=lambda node: node.box[0])


SOLVERS: Solvers = {
    "click-tab": _named_tab,
    "click-tab-2": _search_tabs,
    "click-tab-2-easy": _search_tabs,
    "click-tab-2-medium": _search_tabs,
    "click-tab-2-hard": _search_tabs,
    "click-collapsible-2": _search_tabs,
    "click-collapsible-2-nodelay": _search_tabs,
    "click-collapsible": _expand,
    "click-collapsible-nodelay": _expand,
    "click-menu": _menu,
    "click-menu-2": _button_menu,
    "click-pie": _pie,
    "click-pie-nodelay": _pie,
    "navigate-tree": _tree,
    "phone-book": _phone_book,
    "search-engine": _search,
    "use-slider": _slider,
    "use-slider-2": _sliders,
    "form-sequence": _form,
    "choose-date": _date,
    "choose-date-easy": _date,
    "choose-date-medium": _date,
    "choose-date-nodelay": _date,
    "find-greatest": _greatest,
}
