"""A solver's view of a page, and helpers that build its calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from cairn.envs.gui.accessibility import AccessibilityNode, View
from cairn.envs.gui.actions import GuiCall


@dataclass(frozen=True)
class Sight:
    """A page's view, its goal, and the history of the episode."""

    view: View
    goal: str
    done: tuple[str, ...] = ()  # calls as text, the first one first
    past: tuple[View, ...] = ()  # the view before each call

    @cached_property
    def things(self) -> tuple[AccessibilityNode, ...]:
        """The elements that can be acted on."""
        return tuple(node for node in self.view.nodes if node.bid)

    @cached_property
    def quoted(self) -> tuple[str, ...]:
        """The quoted texts in the goal."""
        return tuple(re.findall(r'"([^"]*)"', self.goal))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The whole numbers in the goal."""
        return tuple(map(int, re.findall(r"-?\d+", self.goal)))

    def text_of(self, node: AccessibilityNode) -> str:
        """Return an element's name, else the texts in it."""
        return node.name or " ".join(self._texts(node))

    def all(self, role: str = "", text: str | None = None, look: str = "") -> list[AccessibilityNode]:
        """Return the elements with a role, a name or text, and a tag and classes.

        Examples of `look`: "span", "span.star", ".star".
        """
        return [
            node
            for node in self.things
            if (not role or node.role == role)
            and (text is None or self.text_of(node) == text)
            and (not look or _looks(node, look))
        ]

    def one(self, role: str = "", text: str | None = None, look: str = "") -> AccessibilityNode:
        """Return the first such element.

        Raises:
            LookupError: there is no such element.
        """
        return self.all(role, text, look)[0]

    def is_shown(self, text: str) -> bool:
        """Return whether a node's name or value equals the text."""
        return any(text in (node.name, node.value) for node in self.view.nodes)

    def texts(self) -> list[str]:
        """Return all texts."""
        return [node.name for node in self.view.nodes if node.role == "text"]

    def match(self, pattern: str) -> tuple[str, ...]:
        """Return the groups of a pattern in the goal.

        Raises:
            LookupError: the goal does not match.
        """
        found = re.search(pattern, self.goal)
        if found is None:
            raise LookupError(f"{pattern!r} is not in {self.goal!r}")
        return found.groups()

    def _texts(self, node: AccessibilityNode) -> list[str]:
        at = next(index for index, each in enumerate(self.view.nodes) if each is node)
        inside, found = {at}, []
        for index in range(at + 1, len(self.view.nodes)):
            each = self.view.nodes[index]
            if each.parent not in inside:
                break
            inside.add(index)
            if each.role == "text":
                found.append(each.name)
        return found


Solve = Callable[[Sight], GuiCall]
Solvers = Mapping[str, Solve]


def _looks(node: AccessibilityNode, look: str) -> bool:
    """Return whether an element has a tag and classes."""
    tag, *classes = look.split(".")
    kinds = [state.split(".") for state in node.states if " " not in state]
    return any((not tag or kind[0] == tag) and set(classes) <= set(kind[1:]) for kind in kinds)


def colour(node: AccessibilityNode) -> str:
    """Return an element's colour, "#rrggbb"; "" if it has no colour."""
    return next((state for state in node.states if re.fullmatch("#[0-9a-f]{6}", state)), "")


def middle(node: AccessibilityNode) -> tuple[float, float]:
    """Return the centre of an element."""
    x, y, width, height = node.box
    return x + width / 2, y + height / 2


def click(node: AccessibilityNode) -> GuiCall:
    """Click on an element."""
    return GuiCall(name="click", arguments={"bid": node.bid})


def click_at(x: float, y: float) -> GuiCall:
    """Click at a point."""
    return GuiCall(name="mouse_click", arguments={"x": x, "y": y})


def fill(node: AccessibilityNode, text: str) -> GuiCall:
    """Replace a field's content."""
    return GuiCall(name="fill", arguments={"bid": node.bid, "value": text})


def press(node: AccessibilityNode, key: str) -> GuiCall:
    """Press a key in an element."""
    return GuiCall(name="press", arguments={"bid": node.bid, "key_comb": key})


def choose(node: AccessibilityNode, options: str | list[str]) -> GuiCall:
    """Choose from a list."""
    return GuiCall(name="select_option", arguments={"bid": node.bid, "options": options})


def drag(start: tuple[float, float], end: tuple[float, float]) -> GuiCall:
    """Drag from one point to another."""
    (from_x, from_y), (to_x, to_y) = start, end
    return GuiCall(
        name="mouse_drag_and_drop", arguments={"from_x": from_x, "from_y": from_y, "to_x": to_x, "to_y": to_y}
    )


def scroll(y: float) -> GuiCall:
    """Scroll down."""
    return GuiCall(name="scroll", arguments={"delta_x": 0, "delta_y": y})


def wait() -> GuiCall:
    """Let time pass."""
    return GuiCall(name="noop")


def submit(sight: Sight, text: str = "Submit") -> GuiCall:
    """Click on the button that ends the task."""
    return click(sight.one("button", text))


def filled(sight: Sight, wanted: list[tuple[AccessibilityNode, str]], then: str = "Submit") -> GuiCall:
    """Fill the first field whose content is wrong; if all are right, click the button."""
    for node, text in wanted:
        if node.value != text:
            return fill(node, text)
    return submit(sight, then)
