"""A thought and one action in labelled lines, after ReAct.

See Yao et al. 2022, arXiv 2210.03629. A valid reply, apart from surrounding white space, is::

    Thought: any text, also empty or of several lines
    Action: the action

An action of several lines is below ``Action:`` and extends to the end of the reply. No text may follow an action. A
line that begins with a label, in any case, number or emphasis, counts as that label: so a reply that continues with its
own observation, or with further steps, is rejected as a whole. The numbers after the labels in the paper are omitted: a
reply is one step.
"""

from __future__ import annotations

import re

from cairn.agents.forms.base import FormConfig, Parsed, ReplyForm, invalid
from cairn.core.plugins import Plugin

THOUGHT, ACTION = "Thought:", "Action:"
_LABEL = re.compile(r"^[ \t>*_#-]*(thought|action|observation)(?:[ \t*_]*\d+)?[ \t*_]*:", re.MULTILINE | re.IGNORECASE)


def parse(reply: str) -> Parsed:
    """Return the action of a reply."""
    text = reply.strip()
    labels = [(found.start(), found[1].lower()) for found in _LABEL.finditer(text)]
    names = [name for _, name in labels]
    if "observation" in names:
        return invalid("it holds an observation, and only the environment makes those. End the reply after the action")
    if names.count("action") != 1:
        return invalid(f"{names.count('action')} lines begin with {ACTION!r}, and exactly one has to")
    if names != ["thought", "action"] or not text.startswith(THOUGHT) or not text.startswith(ACTION, labels[1][0]):
        return invalid(f"it has to be one {THOUGHT!r} and, on a later line, one {ACTION!r}, written so")
    line, _, below = text[labels[1][0] + len(ACTION) :].partition("\n")
    if line.strip() and below.strip():
        return invalid("text follows the action. An action of several lines stands below 'Action:'")
    action = line.strip() or below.strip()
    return Parsed(action=action, is_valid=True) if action else invalid(f"nothing follows {ACTION!r}")


def write(action: str) -> str:
    """Return a reply without a thought.

    `parse` rejects it if a line of the action begins with a label.
    """
    return f"{THOUGHT}\n{ACTION}\n{action}" if "\n" in action.strip() else f"{THOUGHT}\n{ACTION} {action}"


FORM = Plugin(FormConfig, lambda _: ReplyForm(parse=parse, write=write, is_strict=True))
