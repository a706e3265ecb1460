"""Paraphrases of arbitrary instructions: frames around the text that keep every word.

If the first sentence is an order with a known verb, or a question, it becomes part of a frame sentence; otherwise the
frame precedes the whole text. The frames remove, add and reorder nothing. Environments with structured tasks have their
own paraphrases (`household.paraphrase`, `webshop.paraphrase`).
"""

from __future__ import annotations

_VERBS = frozenset((
    "Accept", "Add", "Answer", "Archive", "Arrange", "Ask", "Assign", "Attach", "Block", "Book", "Buy", "Call",
    "Cancel", "Change", "Clear", "Close", "Collect", "Comment", "Compare", "Complete", "Copy", "Create", "Cut",
    "Decline", "Delete", "Download", "Draft", "Empty", "Enter", "File", "Fill", "Find", "Fix", "Forward", "Get",
    "Give", "Go", "Hide", "Invite", "Label", "Leave", "List", "Log", "Look", "Make", "Mark", "Merge", "Move", "Open",
    "Order", "Pay", "Pick", "Pin", "Place", "Plan", "Post", "Print", "Put", "Record", "Remind", "Remove", "Rename",
    "Renew", "Reopen", "Repair", "Reply", "Report", "Request", "Reschedule", "Reserve", "Return", "Save", "Schedule",
    "Search", "Select", "Send", "Set", "Settle", "Share", "Show", "Sort", "Split", "Start", "Stop", "Submit",
    "Subscribe", "Switch", "Take", "Tell", "Transfer", "Trash", "Turn", "Type", "Unsubscribe", "Update", "Upload",
    "Use", "Write",
))  # fmt: skip
_QUESTIONS = frozenset(("How", "What", "When", "Where", "Which", "Who", "Whose"))

_OF_ORDERS = (
    "Please {rest}",
    "I would like you to {rest}",
    "Your job is to {rest}",
    "What I need you to do: {rest}",
)
_OF_QUESTIONS = (
    "I have a question: {rest}",
    "Please find this out for me: {rest}",
    "What I need to know: {rest}",
)
_OF_ANYTHING = (
    "This is what it is about. {text}",
    "Here is your task. {text}",
    "Please take care of the following. {text}",
)


def framed(text: str) -> tuple[str, ...]:
    """Return paraphrases of an instruction.

    ``framed("Archive the mail 'Keys'.")[0] == "Please archive the mail 'Keys'."``
    """
    first, _, _ = text.partition(" ")
    rest = f"{text[:1].lower()}{text[1:]}"
    if first in _VERBS:
        return tuple(frame.format(rest=rest) for frame in _OF_ORDERS)
    if first in _QUESTIONS:
        return tuple(frame.format(rest=rest) for frame in _OF_QUESTIONS)
    return tuple(frame.format(text=text) for frame in _OF_ANYTHING)
