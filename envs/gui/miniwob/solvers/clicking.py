"""Solvers of pages that need a click on the right element."""

from __future__ import annotations

import re

from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.miniwob.sight import Sight, Solvers, click, click_at, colour, middle, submit, wait

_COLOURS = {
    "red": "#ff0000", "blue": "#0000ff", "olive": "#808000", "lime": "#00ff00", "black": "#000000", "white": "#ffffff",
    "grey": "#808080", "purple": "#800080", "orange": "#ffa500", "yellow": "#ffff00", "cyan": "#00ffff",
    "pink": "#ffc0cb", "magenta": "#ff00ff", "aqua": "#00ffff", "green": "#008000",
}  # fmt: skip
_SHAPES = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}


def _only_button(sight: Sight) -> GuiCall:
    return click(sight.one("button"))


def _button_one(sight: Sight) -> GuiCall:
    return click(sight.one("button", "ONE"))


def _one_then_two(sight: Sight) -> GuiCall:
    return click(sight.one("button", "TWO" if sight.done else "ONE"))


def _one_wait_two(sight: Sight) -> GuiCall:
    (seconds,) = sight.numbers
    if not any("click" in call for call in sight.done):
        return click(sight.one("button", "ONE"))
    waited = sum(call == "noop()" for call in sight.done)
    return wait() if waited < seconds - 1 else click(sight.one("button", "TWO"))


def _quoted_button(sight: Sight) -> GuiCall:
    return click(sight.one("button", sight.quoted[0]))


def _quoted_link(sight: Sight) -> GuiCall:
    return click(sight.one(text=sight.quoted[0], look="span.alink"))


def _close_dialog(sight: Sight) -> GuiCall:
    wanted = sight.quoted[0] if sight.quoted else "x"
    return click(sight.one("button", "Close" if wanted == "x" else wanted))


def _coloured_box(sight: Sight) -> GuiCall:
    (name,) = sight.match(r"on the (\w+) colored")
    boxes = [node for node in sight.all(look="div.color") if colour(node) == _COLOURS[name]]
    return click(max(boxes, key=lambda node: node.box[2]))


def _shades(sight: Sight) -> GuiCall:
    (name,) = sight.match(r"shades of (\w+)")
    for node in sight.all(look="span"):
        shade = colour(node)
        parts = [int(shade[at : at + 2], 16) for at in (1, 3, 5)]
        is_wanted = parts.index(max(parts)) == ("red", "green", "blue").index(name)
        if is_wanted and not any("selected" in state for state in node.states):
            return click(node)
    return submit(sight)


def _widget(sight: Sight) -> GuiCall:
    kind = sight.quoted[0]
    if kind in ("radio", "checkbox", "button"):
        return click(sight.one(kind))
    return click(sight.one("textbox", look="textarea" if kind == "textarea" else "input"))


def described(sight: Sight, words: str) -> list[AccessibilityNode]:
    """Return the drawn items that match a description, such as "large red letter"."""
    found = []
    for node in sight.all(look="text") + [node for tag in _SHAPES for node in sight.all(look=tag)]:
        tag = next(kind for kind in ("text", *_SHAPES) if kind in node.states)
        text = sight.text_of(node)
        kind = "shape" if tag != "text" else "digit" if text.isdigit() else "letter"
        size = "large" if node.box[3] > (14 if tag == "text" else 15) else "small"
        names = {kind, kind + "s", _SHAPES.get(tag, text), f"{_SHAPES.get(tag, text)}s", "item", "items", size}
        names |= {name for name, code in _COLOURS.items() if code == colour(node)}
        if set(words.split()) <= names:
            found.append(node)
    return found


def _shape(sight: Sight) -> GuiCall:
    return click(described(sight, sight.match(r"Click on an? (.*)$")[0])[0])


def _count_shapes(sight: Sight) -> GuiCall:
    count = len(described(sight, sight.match(r"How many (.*?)s? are there")[0]))
    return click(sight.one("button", str(count)))


def _identify(sight: Sight) -> GuiCall:
    for node in sight.things:
        for tag, name in _SHAPES.items():
            if tag in node.states:
                return click(sight.one("button", name.capitalize()))
        if "text" in node.states:
            return click(sight.one("button", "Number" if sight.text_of(node).isdigit() else "Letter"))
    return wait()


def _ascending(sight: Sight) -> GuiCall:
    rects = sight.all(look="rect")
    return click(rects[0] if rects else sight.one(text="1", look="text"))


def _focus(sight: Sight) -> GuiCall:
    boxes = sight.all("textbox")
    return click(boxes[sight.numbers[0] - 1 if sight.numbers else 0])


def _cheapest(sight: Sight) -> GuiCall:
    """Buy the ticket with the least or the most of the goal's measure.

    Each ticket is a few lines and a button.
    """
    button, best = None, float("inf")
    (which,) = sight.match(r"ticket with the (.*)\.")
    measures: list[float] = []
    for node in sight.things:
        text = sight.text_of(node)
        if found := re.fullmatch(r"(\d+)h (\d+)m", text):
            measures.append(60 * int(found[1]) + int(found[2]))
        elif node.role == "button" and text.startswith("Book"):
            price = float(re.sub(r"[^\d.]", "", text))
            value = measures[-1] if "duration" in which else price
            value = -value if "longest" in which or "most" in which else value
            if value < best:
                button, best = node, value
    return click(button) if button else wait()


def _odd_or_even(sight: Sight) -> GuiCall:
    buttons = [node for node in sight.all("button") if sight.text_of(node) != "Submit"]
    shown = [int(sight.text_of(node)) for node in sight.all(look="div.display-number")]
    for number, odd, even in zip(shown, buttons[::2], buttons[1::2], strict=True):
        wanted = odd if number % 2 else even
        if wanted.bid not in "".join(sight.done):
            return click(wanted)
    return submit(sight)


def _greatest(sight: Sight) -> GuiCall:
    """Turn over each card, then submit if a card is open, else wait."""
    cards = sight.all(look="div.card")
    shown = [sight.text_of(card) for card in cards]
    seen = len(sight.done)
    if seen < len(cards):
        return click(cards[seen])
    return submit(sight) if any(shown) else wait()


def _generate(sight: Sight) -> GuiCall:
    shown = [text for text in sight.texts() if re.fullmatch(r"-?\d+", text)]
    if shown and _fits(int(shown[0]), sight.goal):
        return submit(sight)
    return click(sight.one("button", "Generate"))


def _fits(number: int, goal: str) -> bool:
    bounds = [int(found) for found in re.findall(r"-?\d+", goal)]
    if "odd" in goal or "even" in goal:
        return number % 2 == ("odd" in goal)
    if "between" in goal:
        return bounds[0] <= number <= bounds[1]
    return number > bounds[0] if "greater" in goal else number < bounds[0]


def _grid_point(sight: Sight) -> GuiCall:
    x, y = map(int, sight.match(r"\((-?\d+),\s*(-?\d+)\)"))
    points = sorted(sight.all(look="circle"), key=lambda node: (node.box[0], -node.box[1]))
    return click(points[(x + 2) * 5 + y + 2])


def _buy_stock(sight: Sight) -> GuiCall:
    (limit,) = sight.match(r"less than \$([\d.]+\d)")
    price = next(text for text in sight.texts() if text.startswith("$"))
    return click(sight.one("button", "Buy")) if float(price[1:]) <= float(limit) else wait()


def _circle_in_sight(sight: Sight) -> GuiCall:
    """Click on a circle, or beside one that is still outside the drawing, which counts too."""
    x, y = middle(sight.one(look="circle"))
    return click_at(min(max(x, 3), 159), min(max(y, 56), 204))


def _blocks(sight: Sight) -> GuiCall:
    """Type the number of blocks."""
    field = sight.one("textbox")
    count = str(len(sight.all(look="span.addition-block")))
    if field.value != count:
        return GuiCall(name="fill", arguments={"bid": field.bid, "value": count})
    return submit(sight)


SOLVERS: Solvers = {
    "click-test": _only_button,
    "click-test-2": _button_one,
    "click-test-transfer": _button_one,
    "click-button-sequence": _one_then_two,
    "button-delay": _one_wait_two,
    "click-button": _quoted_button,
    "unicode-test": _quoted_button,
    "click-link": _quoted_link,
    "click-dialog": _close_dialog,
    "click-dialog-2": _close_dialog,
    "click-color": _coloured_box,
    "click-shades": _shades,
    "click-widget": _widget,
    "click-shape": _shape,
    "count-shape": _count_shapes,
    "identify-shape": _identify,
    "ascending-numbers": _ascending,
    "focus-text": _focus,
    "focus-text-2": _focus,
    "buy-ticket": _cheapest,
    "odd-or-even": _odd_or_even,
    "generate-number": _generate,
    "grid-coordinate": _grid_point,
    "stock-market": _buy_stock,
    "moving-items": _circle_in_sight,
    "visual-addition": _blocks,
}
