"""Solvers of pages with mails."""

from __future__ import annotations

import re

from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.miniwob.sight import Sight, Solvers, click, fill


def _mail(sight: Sight) -> GuiCall:
    """Handle a mail according to the goal, which has one of four forms."""
    if found := re.search(r"by (\S+) and reply to them with the text \"(.*)\"\.", sight.goal):
        return _answer(sight, found[1], found[2])
    if found := re.search(r"by (\S+) and forward that email to (\S+)\.", sight.goal):
        return _pass_on(sight, found[1], found[2])
    (sender,) = sight.match(r"by (\S+) and click the")
    return click(_icon(sight, sender, "trash" if "delete" in sight.goal else "star"))


def _icon(sight: Sight, sender: str, kind: str) -> AccessibilityNode:
    """Return the first icon of a kind after a sender's name."""
    at = sight.things.index(_from(sight, sender))
    return next(node for node in sight.things[at:] if f"span.{kind}" in " ".join(node.states))


def _from(sight: Sight, sender: str) -> AccessibilityNode:
    return sight.one(text=sender, look="div.email-sender")


def _answer(sight: Sight, sender: str, text: str) -> GuiCall:
    if fields := sight.all("textbox"):
        return fill(fields[0], text) if fields[0].value != text else click(_sends(sight))
    return _open_and(sight, sender, "Reply")


def _pass_on(sight: Sight, sender: str, receiver: str) -> GuiCall:
    if fields := sight.all("textbox"):
        return fill(fields[0], receiver) if fields[0].value != receiver else click(_sends(sight))
    return _open_and(sight, sender, "Forward")


def _open_and(sight: Sight, sender: str, what: str) -> GuiCall:
    if found := sight.all(text=what):
        return click(found[0])
    return click(_from(sight, sender))


def _sends(sight: Sight) -> AccessibilityNode:
    """Return the icon that sends: the rightmost one above the text field."""
    field = sight.all("textbox")[0]
    icons = [node for node in sight.all("image") if node.box[1] <= field.box[1]]
    return max(icons, key=lambda node: node.box[0])


SOLVERS: Solvers = {
    "email-inbox": _mail,
    "email-inbox-delete": _mail,
    "email-inbox-forward": _mail,
    "email-inbox-important": _mail,
    "email-inbox-noscroll": _mail,
    "email-inbox-reply": _mail,
    "email-inbox-star-reply": _mail,
}
