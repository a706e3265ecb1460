"""Alternative names of GUI functions, and the places where texts mention functions.

These are the first list, errors, and patched calls. Page content is in quotation marks on other lines, so it is never
mistaken for any of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cairn.envs.rephrasable import Rephrasable

OTHERS: dict[str, tuple[str, ...]] = {
    "click": ("tap", "activate"),
    "dblclick": ("double_tap", "click_twice"),
    "hover": ("point_at", "mouse_over"),
    "fill": ("set_text", "write_into"),
    "clear": ("erase", "wipe"),
    "check": ("tick", "mark_box"),
    "uncheck": ("untick", "unmark_box"),
    "select_option": ("choose_option", "pick_from_list"),
    "press": ("press_key_in", "hit_key_in"),
    "focus": ("focus_on", "go_into"),
    "drag_and_drop": ("drag_onto", "move_onto"),
    "scroll": ("scroll_by", "pan"),
    "mouse_move": ("move_pointer", "pointer_to"),
    "mouse_click": ("click_at", "tap_at"),
    "mouse_dblclick": ("double_click_at", "double_tap_at"),
    "mouse_drag_and_drop": ("drag_between", "drag_from_to"),
    "keyboard_type": ("type_text", "enter_text"),
    "keyboard_press": ("press_key", "hit_key"),
    "goto": ("open_url", "visit"),
    "go_back": ("history_back", "step_back"),
    "go_forward": ("history_forward", "step_forward"),
    "new_tab": ("open_tab", "add_tab"),
    "tab_close": ("close_tab", "drop_tab"),
    "tab_focus": ("switch_tab", "show_tab"),
    "noop": ("wait", "do_nothing"),
    "send_msg_to_user": ("tell_user", "answer_user"),
}
_USAGE = "Actions, one a turn, "  # beginning of the list's first line
_CALLS = ("Error: It is ", "In place of this, the recorded action was taken: ")  # followed by a call
_NAMES = ("Error: There is no function ", "Error: Expected one call such as ")  # followed by names at any position


class RephrasableFunctions(Rephrasable):
    """A `Rephrasable` whose commands are GUI functions."""

    _functions: tuple[str, ...]

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the functions, with alternative names for each."""
        return {name: OTHERS[name] for name in self._functions}

    def rename_commands(self, text: str, rename: Callable[[str], str]) -> str:
        """Return the text with the functions renamed, except in page content."""
        return rename_functions(text, rename)

    def shuffle_lists(self, text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
        """Return the text with the list of functions shuffled."""
        return shuffle_functions(text, shuffle)


def rename_functions(text: str, rename: Callable[[str], str]) -> str:
    """Return a text with `rename` applied to the function names."""
    lines = text.split("\n")
    if lines[0].startswith(_NAMES):
        lines[0] = rename(lines[0])
    elif lines[0].startswith(_CALLS):
        lines[0] = _up_to_bracket(lines[0], rename)
    first, last = _listed(lines)
    return "\n".join([*lines[:first], *(_up_to_bracket(line, rename) for line in lines[first:last]), *lines[last:]])


def shuffle_functions(text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
    """Return a text with its list of functions shuffled; the order of a page's content stays."""
    lines = text.split("\n")
    first, last = _listed(lines)
    return "\n".join([*lines[: first + 1], *shuffle(lines[first + 1 : last]), *lines[last:]])


def _listed(lines: list[str]) -> tuple[int, int]:
    """Return start and end of the list of functions; both 0 if there is no list.

    The start is the list's first line.
    """
    if not lines[0].startswith("Goal: "):
        return 0, 0
    first = next((at for at, line in enumerate(lines) if line.startswith(_USAGE)), None)
    return (0, 0) if first is None else (first, lines.index("", first))


def _up_to_bracket(line: str, rename: Callable[[str], str]) -> str:
    head, bracket, rest = line.partition("(")
    return f"{rename(head)}{bracket}{rest}"
