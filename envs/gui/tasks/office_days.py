"""Workflows from `envs.office.tasks`, where agents write programs, here played on pages."""

from __future__ import annotations

from cairn.envs.gui.task import workflow
from cairn.envs.office.tasks import templates

# Templates of moderate length whose instructions mention no call and ask for no answer.
_TAKEN = (
    "book-first-slot",
    "invite-group",
    "send-newest-version",
    "send-minutes",
    "reply-phone",
    "move-on-request",
    "plan-visit",
    "settle-requests",
    "dinner-shares",
)
TEMPLATES = tuple(
    workflow(f"office-{name}", templates()[name].level, templates()[name].apps, templates()[name].make)
    for name in _TAKEN
)
