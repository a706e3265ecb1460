"""The contract of a reply form: what a reply has to look like, so that it is one action.

What a model is told of a form stands in `configs/prompts/forms`, in a file of the form's name. A strict form takes what
is documented and nothing else: any other reply is invalid, has no action, and says why in words for the model, which
hears them at its next turn. No reply raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cairn.agents.parse import Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A way to answer."""

    parse: Callable[[str], Parsed]  # of any text
    write: Callable[[str], str]  # a reply that asks for an action and says nothing else
    is_strict: (
        bool  # what `write` makes of an action, `parse` reads as that action without blanks around it, or refuses
    )
