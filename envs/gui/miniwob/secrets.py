"""MiniWoB++ pages with invisible state, by its kind; their states include all earlier calls."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, tuple[str, ...]] = {
    "a running clock": (
        "button-delay", "chase-circle", "moving-items", "stock-market", "terminal",
    ),
    "chance that is still to come": (
        "book-flight", "book-flight-nodelay", "generate-number", "login-user-popup", "search-engine", "tic-tac-toe",
    ),
    "earlier clicks": ("click-button-sequence", "odd-or-even"),
    "points of a line": ("draw-circle", "draw-line"),
    "where the mouse is, or was dragged from": (
        "click-menu", "click-menu-2", "daily-calendar", "drag-cube", "hot-cold", "social-media-all",
        "social-media-some",
    ),
    "results of exploring": ("sign-agreement",),
    "the month that a closed calendar will open on": (
        "choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay",
    ),
    "a widget's own state": (
        "click-pie", "click-pie-nodelay", "form-sequence-3", "text-editor", "use-autocomplete",
        "use-autocomplete-nodelay", "use-colorwheel", "use-colorwheel-2", "use-spinner", "enter-date", "enter-time",
    ),
    "the clipboard": ("copy-paste", "copy-paste-2"),
    "a whole site's scripts": ("flight.AA", "flight.Alaska", "flight.Alaska-auto", "flight.Alaska-auto-medium"),
}  # fmt: skip
SECRETIVE: frozenset[str] = frozenset(name for names in REASONS.values() for name in names)
