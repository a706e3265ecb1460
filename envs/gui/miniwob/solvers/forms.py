"""Solvers of pages with fields, checkboxes and lists."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from pathlib import Path

from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.actions import GuiCall, written
from cairn.envs.gui.miniwob.pages import folder
from cairn.envs.gui.miniwob.sight import Sight, Solvers, choose, click, fill, filled, press, scroll, submit, wait

_ORDINALS = {"1st": 0, "2nd": 1, "3rd": 2, "first": 0, "second": 1, "third": 2}


def _enter(sight: Sight) -> GuiCall:
    return filled(sight, [(sight.one("textbox"), sight.quoted[0])])


def _enter_cased(sight: Sight) -> GuiCall:
    text = sight.quoted[0]
    return filled(sight, [(sight.one("textbox"), text.upper() if "upper" in sight.goal else text.lower())])


def _enter_date(sight: Sight) -> GuiCall:
    day = datetime.strptime(sight.match(r"(\d+/\d+/\d+)")[0], "%m/%d/%Y")
    return filled(sight, [(sight.one(look="input"), f"{day:%Y-%m-%d}")])


def _enter_time(sight: Sight) -> GuiCall:
    time = datetime.strptime(sight.match(r"(\d+:\d+ [AP]M)")[0], "%I:%M %p")
    return filled(sight, [(sight.one(look="input"), f"{time:%H:%M}")])


def _password(sight: Sight) -> GuiCall:
    """Fill in the passwords; a filled field shows one dot per character."""
    for field in sight.all("textbox"):
        if len(field.value or "") != len(sight.quoted[0]):
            return fill(field, sight.quoted[0])
    return submit(sight)


def _log_in(sight: Sight) -> GuiCall:
    if refuse := sight.all("button", "Cancel"):
        return click(refuse[0])
    name, password = sight.all("textbox")
    if name.value != sight.quoted[0]:
        return fill(name, sight.quoted[0])
    if len(password.value or "") != len(sight.quoted[1]):
        return fill(password, sight.quoted[1])
    return click(sight.all("button")[-1])


def _ticked(sight: Sight, wanted: set[str]) -> GuiCall:
    for box in sight.all("checkbox"):
        if ("checked" in box.states) != (sight.text_of(box) in wanted):
            return click(box)
    return submit(sight)


def _tick(sight: Sight) -> GuiCall:
    (listed,) = sight.match(r"Select (.*) and click Submit")
    return _ticked(sight, set() if listed == "nothing" else set(listed.split(", ")))


@cache
def _synonyms() -> tuple[frozenset[str], ...]:
    page = Path(folder() / "miniwob/click-checkboxes-soft.html").read_text(encoding="utf-8")
    table = page[page.index("var SYNONYMS") : page.index("];")]
    return tuple(frozenset(re.findall(r"'(\w+)'", line)) for line in table.splitlines())


def _tick_similar(sight: Sight) -> GuiCall:
    (listed,) = sight.match(r"similar to (.*) and click Submit")
    wanted = {word for each in listed.split(", ") for group in _synonyms() if each in group for word in group}
    return _ticked(sight, wanted)


def _choose_option(sight: Sight) -> GuiCall:
    (wanted,) = sight.match(r"Select (.*) and click Submit")
    option = sight.one("radio", wanted)
    return submit(sight) if "checked" in option.states else click(option)


def _choose_from_list(sight: Sight) -> GuiCall:
    (wanted,) = sight.match(r"Select (.*) from the list")
    field = sight.one("combobox")
    return submit(sight) if field.value == wanted else choose(field, wanted)


def _choose_several(sight: Sight) -> GuiCall:
    (listed,) = sight.match(r"Select (.*) from the scroll list")
    field, wanted = sight.one("listbox"), listed.split(", ")
    chosen = [option for option in field.options if option in wanted]
    return submit(sight) if field.value == ", ".join(chosen) else choose(field, wanted)


def _nth_textarea(sight: Sight) -> GuiCall:
    """Copy and paste by keys, since invisible spaces at the end count too."""
    area = sight.all("textbox", look="textarea")[sight.numbers[0] - 1 if sight.numbers else 0]
    field = sight.one("textbox", look="input")
    steps = [press(area, "Control+a"), press(area, "Control+c"), press(field, "Control+v")]
    last = next((at for at, step in enumerate(steps) if sight.done and written(step) == sight.done[-1]), -1)
    return submit(sight) if last == len(steps) - 1 else steps[last + 1]


def _nth_word(sight: Sight) -> GuiCall:
    words = sight.text_of(sight.one("paragraph")).split()
    return filled(sight, [(sight.one("textbox"), words[sight.numbers[0] - 1].strip(".,"))])


def _last_word(sight: Sight) -> GuiCall:
    text = sight.one("textbox", look="textarea").value or ""
    return filled(sight, [(sight.one("textbox", look="input"), text.split()[-1].strip(".,"))])


def _scroll_down(sight: Sight) -> GuiCall:
    (up_or_down,) = sight.match(r"to the (top|bottom)")
    return submit(sight) if sight.done else scroll(9000 if up_or_down == "bottom" else -9000)


def _table(sight: Sight) -> dict[str, str]:
    cells = [sight.text_of(cell) for cell in sight.all("cell")]
    return dict(zip(cells[::2], cells[1::2], strict=True))


def _read_table(sight: Sight) -> GuiCall:
    (what,) = sight.match(r"value of (.*) into")
    return filled(sight, [(sight.one("textbox"), _table(sight)[what])])


def _read_table_twice(sight: Sight) -> GuiCall:
    labels = [sight.text_of(label).rstrip(":") for label in sight.all(look="label")]
    return filled(sight, [(f, _table(sight)[each]) for f, each in zip(sight.all("textbox"), labels, strict=True)])


def _arithmetic(sight: Sight) -> GuiCall:
    left, sign, right = re.fullmatch(r"(\d+) (\S) (\d+) =", sight.texts()[0]).groups()  # type: ignore[union-attr]  # the page's form
    results = {"+": int(left) + int(right), "-": int(left) - int(right), "x": int(left) * int(right)}
    return filled(sight, [(sight.one("textbox"), str(results[sign]))])


def _algebra(sight: Sight) -> GuiCall:
    """Find the solution by trial: x is a whole number."""
    left, right = sight.texts()[0].split(" = ")
    for x in range(-200, 201):
        if _sum(left, x) == _sum(right, x):
            return filled(sight, [(sight.one("textbox"), str(x))])
    return wait()


def _sum(text: str, x: int) -> int:
    first, sign, second = (
        [str(x) if part == "x" else part for part in text.split()] if " " in text else [text, "+", "0"]
    )
    return int(first) + int(second) if sign == "+" else int(first) - int(second)


def _copy_letters(sight: Sight) -> GuiCall:
    field = sight.one("textbox")
    return filled(sight, [(field, "".join(sight.text_of(node) for node in sight.all(look="span")))])


def _guess(sight: Sight) -> GuiCall:
    """Begin in the middle and move by one in the direction that the page shows."""
    field = sight.one("spinbutton")
    text = " ".join(sight.texts())
    last = re.search(r"(higher|lower|greater|less) than (\d)", text)
    if not field.value:
        return fill(field, "5")
    if last is None or int(last[2]) != int(field.value):
        return submit(sight)
    up = last[1] in ("higher", "greater")
    return fill(field, str(int(field.value) + (1 if up else -1)))


def _spinner(sight: Sight) -> GuiCall:
    return filled(sight, [(sight.one("spinbutton"), str(sight.numbers[0]))])


def _form_two(sight: Sight) -> GuiCall:
    choice, number, place = sight.match(r'the (\w+) radio button and enter the number "(-?\d+)" into the (\w+) textbox')
    option, field = sight.all("radio")[_ORDINALS[choice]], sight.all("textbox")[_ORDINALS[place]]
    if "checked" not in option.states:
        return click(option)
    return filled(sight, [(field, number)])


def _form_three(sight: Sight) -> GuiCall:
    wanted, button = sight.match(r'Choose (.*) from the dropdown, then click the button labeled "(.*)"')
    if sight.text_of(sight.one(look="span.label")) == wanted:
        return click(sight.one("button", button))
    options = [node for node in sight.all("listitem") if sight.text_of(node) == wanted]
    return click(options[0] if options else sight.one(look="b.button"))


def _agree(sight: Sight) -> GuiCall:
    if "enter the name" not in sight.goal:
        return click(sight.one("button", "Cancel"))
    name, button = sight.quoted
    field = sight.one("textbox", "Name")
    if "disabled" in field.states:
        return scroll(9000)
    return filled(sight, [(field, name)], then=button)


def _films(sight: Sight) -> GuiCall:
    """Fill in the fields by their labels, which are before or after them."""
    genre, director, year = sight.match(r"Search for (.*) movies directed by (.*) from year (\d+)")
    fields = sight.all("textbox")
    words = ("genre", "director", "year", "date")
    labels = [text for node in sight.things if (text := sight.text_of(node).lower()) and any(w in text for w in words)]
    for field, label in zip(fields, labels[-3:], strict=True):
        wanted = genre if "genre" in label else director if "director" in label else year
        if field.value != wanted:
            return fill(field, wanted)
    return click(_last_button(sight))


def _last_button(sight: Sight) -> AccessibilityNode:
    names = ("Search", "Submit", "Go!", "Find", "Find Movies", "Go")
    found = [node for node in sight.things if node.role == "button" or sight.text_of(node) in names]
    return found[-1]


_DIGITS = (
    "0110 1001 1001 1001 1001 1001 0110",
    "0010 0110 0010 0010 0010 0010 0010",
    "0110 1001 1001 0010 0100 1000 1111",
    "0110 1001 0001 0110 0001 1001 0110",
    "1000 1010 1010 1111 0010 0010 0010",
    "1111 1000 1000 1110 0001 1001 0110",
    "0110 1001 1000 1110 1001 1001 0110",
    "1111 1001 0001 0010 0010 0100 0100",
    "0110 1001 1001 0110 1001 1001 0110",
    "0110 1001 1001 0111 0001 1001 0110",
)


def _draw_digit(sight: Sight) -> GuiCall:
    marks = _DIGITS[int(sight.quoted[0])].replace(" ", "")
    for box, mark in zip(sight.all("checkbox"), marks, strict=True):
        if ("checked" in box.states) != (mark == "1"):
            return click(box)
    return submit(sight)


def _complete(sight: Sight) -> GuiCall:
    """Type the beginning, then choose an option that also has the end; this leaves the list."""
    field = sight.one("textbox", "Tags:")
    start, end = (*sight.quoted, "")[:2]
    held = field.value or ""
    if held.startswith(start) and held.endswith(end) and len(held) > len(start):
        return submit(sight)
    for option in sight.all(look="div.ui-menu-item-wrapper") + sight.all("option") + sight.all("menuitem"):
        text = sight.text_of(option)
        if text.startswith(start) and text.endswith(end):
            return click(option)
    return fill(field, start)


def _colour_wheel(sight: Sight) -> GuiCall:
    field = sight.one("textbox")
    wanted = _colour_asked_for(sight)
    return submit(sight) if (field.value or "").lower() == wanted else fill(field, wanted)


def _colour_asked_for(sight: Sight) -> str:
    if shown := sight.all(look="div.cc"):
        return next(state[1:] for state in shown[0].states if state.startswith("#"))
    (name,) = sight.match(r"Select (.*) with the color")
    text = (folder() / "common/ui_utils.js").read_text(encoding="utf-8")
    found = re.search(rf'"{name}"\s*:\s*"#([0-9a-f]{{6}})"', text, re.IGNORECASE)
    if found is None:
        raise LookupError(f"no colour is called {name!r}")
    return found[1].lower()


SOLVERS: Solvers = {
    "enter-text": _enter,
    "enter-text-dynamic": _enter,
    "enter-text-2": _enter_cased,
    "enter-date": _enter_date,
    "enter-time": _enter_time,
    "enter-password": _password,
    "login-user": _log_in,
    "login-user-popup": _log_in,
    "click-checkboxes": _tick,
    "click-checkboxes-large": _tick,
    "click-checkboxes-transfer": _tick,
    "click-checkboxes-soft": _tick_similar,
    "click-option": _choose_option,
    "choose-list": _choose_from_list,
    "click-scroll-list": _choose_several,
    "copy-paste": _nth_textarea,
    "copy-paste-2": _nth_textarea,
    "find-word": _nth_word,
    "scroll-text": _last_word,
    "scroll-text-2": _scroll_down,
    "read-table": _read_table,
    "read-table-2": _read_table_twice,
    "simple-arithmetic": _arithmetic,
    "simple-algebra": _algebra,
    "text-transform": _copy_letters,
    "guess-number": _guess,
    "use-spinner": _spinner,
    "form-sequence-2": _form_two,
    "form-sequence-3": _form_three,
    "sign-agreement": _agree,
    "multi-layouts": _films,
    "multi-orderings": _films,
    "number-checkboxes": _draw_digit,
    "use-autocomplete": _complete,
    "use-autocomplete-nodelay": _complete,
    "use-colorwheel": _colour_wheel,
    "use-colorwheel-2": _colour_wheel,
}
