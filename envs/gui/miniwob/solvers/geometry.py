"""Solvers of pages that need a point, a line or a position, or dragging."""

from __future__ import annotations

from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.miniwob.sight import Sight, Solvers, click_at, drag, middle, submit
from cairn.envs.gui.miniwob.solvers.clicking import described

_WAYS = {"left": (-30, 0), "right": (30, 0), "up": (0, -30), "down": (0, 30)}
Point = tuple[float, float]


def _mark(sight: Sight, point: Point) -> GuiCall:
    """Click so that the page draws the point there, then submit.

    The page draws it two pixels right of and below the click.
    """
    return submit(sight) if any("mouse_click" in call for call in sight.done) else click_at(point[0] - 2, point[1] - 2)


def _circles(sight: Sight) -> list[Point]:
    return [middle(node) for node in sight.all(look="circle") if "circle.blue" not in node.states]


def _midpoint(sight: Sight) -> GuiCall:
    (ax, ay), (bx, by) = _circles(sight)[:2]
    return _mark(sight, ((ax + bx) / 2, (ay + by) / 2))


def _centre(sight: Sight) -> GuiCall:
    return _mark(sight, _circles(sight)[0])


def _right_angle(sight: Sight) -> GuiCall:
    """Go from the blue point at a right angle to the line, to the side with more room."""
    black, blue = _circles(sight)[:2]
    dx, dy = black[0] - blue[0], black[1] - blue[1]
    ends = [(blue[0] - sign * dy, blue[1] + sign * dx) for sign in (1, -1)]
    return _mark(sight, _shortened(blue, max(ends, key=_room)))


def _bisect(sight: Sight) -> GuiCall:
    """Go from the blue point halfway between the lines, as far as possible."""
    vertex, one, other = _circles(sight)[:3]
    ends = [_towards(vertex, each, 40) for each in (one, other)]
    middle = (ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2
    return _mark(sight, _shortened(vertex, _towards(vertex, middle, 120)))  # whole pixels matter less far away


def _towards(start: Point, end: Point, length: float) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    size = (dx * dx + dy * dy) ** 0.5
    return start[0] + dx * length / size, start[1] + dy * length / size


def _room(point: Point) -> float:
    return min(point[0] - 6, 145 - point[0], point[1] - 60, 175 - point[1])


def _shortened(start: Point, end: Point) -> Point:
    """Move back towards the start until the point is on the drawing."""
    for share in range(100, 10, -5):
        point = start[0] + (end[0] - start[0]) * share / 100, start[1] + (end[1] - start[1]) * share / 100
        if _room(point) > 0:
            return point
    return start


def _draw_line(sight: Sight) -> GuiCall:
    if sight.done:
        return submit(sight)
    x, y = middle(sight.one(look="circle"))
    if "vertical" in sight.goal:
        return drag((x, y), (x, y + 40 if y < 110 else y - 40))
    return drag((x, y), (x + 50 if x < 80 else x - 50, y))


def _drag_on(sight: Sight) -> GuiCall:
    if sight.done:
        return submit(sight)
    (way,) = sight.match(r"(left|right|up|down)")
    x, y = middle(next(node for node in sight.things if node.role == "graphics-symbol"))
    return drag((x, y), (x + _WAYS[way][0], y + _WAYS[way][1]))


def _box_in_box(sight: Sight) -> GuiCall:
    small, large = sight.one(text="s"), sight.one(text="L")
    (ax, ay), (bx, by) = middle(small), middle(large)
    is_inside = max(abs(ax - bx), abs(ay - by)) < 5
    return submit(sight) if is_inside else drag((ax, ay), (bx, by))


def _boxes(sight: Sight) -> list[AccessibilityNode]:
    return [node for node in sight.all(look="rect") if node.box[2] > 40]


def _drag_into(sight: Sight) -> GuiCall:
    """Drag the wanted shapes into the box and leave the rest."""
    (kind,) = sight.match(r"Drag all (\w+) into")
    box = _boxes(sight)[0]
    for node in described(sight, kind):
        if node is not box and not _is_in(node, box):
            return drag(middle(node), middle(box))
    return submit(sight)


def _drag_apart(sight: Sight) -> GuiCall:
    (words,) = sight.match(r"Drag all (.*) into the left box")
    left, right = sorted(_boxes(sight), key=lambda node: node.box[0])
    wanted = {node.bid for node in described(sight, words)}
    for node in sight.things:
        if node.role == "graphics-symbol" and node not in (left, right):
            box = left if node.bid in wanted else right
            if not _is_in(node, box):
                return drag(middle(node), middle(box))
    return submit(sight)


def _is_in(node: AccessibilityNode, box: AccessibilityNode) -> bool:
    x, y = node.box[:2]
    return box.box[0] < x < box.box[0] + box.box[2] and box.box[1] < y < box.box[1] + box.box[3]


def _items(sight: Sight) -> list[AccessibilityNode]:
    return [node for node in sight.all(look="div") if sight.text_of(node)]


def _move_item(sight: Sight) -> GuiCall:
    name, where = sight.match(r"Drag (\S+) (.*)\.$")
    items = _items(sight)
    at = next(i for i, item in enumerate(items) if sight.text_of(item) == name)
    places = {
        "to the top": 0,
        "to the bottom": len(items) - 1,
        "down by one position": at + 1,
        "up by one position": at - 1,
    }
    to = places[where] if where in places else sight.numbers[0] - 1
    return _drop(items, at, to)


def _drop(items: list[AccessibilityNode], at: int, to: int) -> GuiCall:
    """Drag an item a little beyond its target position."""
    x, y = middle(items[at])
    end = middle(items[to])[1]
    return drag((x, y), (x, end + (4 if to > at else -4)))


def _move_in_grid(sight: Sight) -> GuiCall:
    name, where = sight.match(r"Drag (\S+) (.*)\.$")
    items = _items(sight)
    at = next(i for i, item in enumerate(items) if sight.text_of(item) == name)
    steps = {"up by one": -3, "down by one": 3, "left by one": -1, "right by one": 1}
    corners = ("top left", "top center", "top right", "center left", "center", "center right",
               "bottom left", "bottom center", "bottom right")  # fmt: skip
    to = at + steps[where] if where in steps else corners.index(where.removeprefix("to the "))
    (x, y), (to_x, to_y) = middle(items[at]), middle(items[to])
    return drag((x, y), (to_x + (3 if to > at else -3), to_y + (1 if to > at else -1)))


def _sort(sight: Sight) -> GuiCall:
    """Move the first number that is out of order to its position."""
    items = _items(sight)
    numbers = [int(sight.text_of(item)) for item in items]
    for to, number in enumerate(sorted(numbers)):
        if numbers[to] != number:
            return _drop(items, numbers.index(number, to), to)
    return submit(sight)


def _resize(sight: Sight) -> GuiCall:
    if sight.done:
        return submit(sight)
    what, how = sight.match(r"the (width|height) is (larger|smaller)")
    handle = sight.one(look=".ui-resizable-e" if what == "width" else ".ui-resizable-s")
    by = 15 if how == "larger" else -15
    x, y = handle.box[0] + 1, handle.box[1] + 1  # the rest of the handle is clipped
    return drag((x, y + 20), (x + by, y + 20)) if what == "width" else drag((x + 20, y), (x + 20, y + by))


def _highlight(sight: Sight) -> GuiCall:
    """Drag from before the first letter to behind the last one; the selection is not visible."""
    if sight.done:
        return submit(sight)
    texts = [
        node for node in sight.things if node.role == "paragraph" or (node.role == "generic" and sight.text_of(node))
    ]
    x, y, width, height = texts[sight.numbers[0] - 1 if sight.numbers else 0].box
    return drag((x, y + 2), (x + width, y + height - 2))


SOLVERS: Solvers = {
    "find-midpoint": _midpoint,
    "circle-center": _centre,
    "right-angle": _right_angle,
    "bisect-angle": _bisect,
    "draw-line": _draw_line,
    "drag-circle": _drag_on,
    "drag-single-shape": _drag_on,
    "drag-box": _box_in_box,
    "drag-shapes": _drag_into,
    "drag-shapes-2": _drag_apart,
    "drag-items": _move_item,
    "drag-items-grid": _move_in_grid,
    "drag-sort-numbers": _sort,
    "resize-textarea": _resize,
    "highlight-text": _highlight,
    "highlight-text-2": _highlight,
}
