"""Prompt and reply format of the published GiGPO runs on WebShop, as text functions.

`build_prompt` shows the task, the last `HISTORY_LENGTH` turns, the current page and the available actions: any search
if the page has a search bar, and a click on each clickable element. A page is shown without the instruction and with
its pieces in quotes. The layout and the limit on its length follow the public code; the wording is Cairn's own.
Supports only the observation mode "text".
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.envs.tagged_reply import TaggedReply, parse_tagged, write_tagged

__all__ = ["TaggedReply", "build_prompt", "parse_reply", "task_of", "write_reply"]

HISTORY_LENGTH = 2  # turns shown
MAX_CHARS = 13_000  # of a prompt; a longer one is written without history
INVALID_PENALTY = 0.1  # subtracted from the reward of a turn with an invalid reply
SUCCESS_REWARD = 10.0  # reward of those runs for 1.0; any lower reward counts as 0
FALLBACK_CHARS = 20  # without tags, the last characters of the reply are sent as the action

_SEPARATOR = " [SEP] "
_MARK = f"Instruction:{_SEPARATOR}"


def task_of(intro: str) -> str:
    """Return the instruction from an episode's first page.

    Raises:
        ValueError: the page shows no instruction.
    """
    _, mark, rest = intro.partition(_MARK)
    if not mark:
        raise ValueError(f"Expected a page with {_MARK!r}, got {intro[:200]!r}")
    return rest.removesuffix(f"{_SEPARATOR}Search")


def build_prompt(
    *,
    task: str,
    history: Sequence[tuple[str, str]],
    observation: str,
    admissible: Sequence[str],
    history_length: int = HISTORY_LENGTH,
) -> str:
    """Return the prompt of one turn.

    `history` holds all (observation, action) pairs so far, oldest first.
    """
    shown = list(enumerate(history, start=1))[max(len(history) - history_length, 0) :]
    prompt = _prompt(task, len(history), shown, observation, admissible)
    return prompt if len(prompt) <= MAX_CHARS else _prompt(task, len(history), [], observation, admissible)


def write_reply(action: str) -> str:
    """Return a valid reply with `action` and an empty thought."""
    return write_tagged(action)


def parse_reply(reply: str) -> TaggedReply:
    """Return the action in a reply and whether the reply was valid; never raises."""
    return parse_tagged(reply, FALLBACK_CHARS)


def _prompt(
    task: str, num_turns: int, shown: Sequence[tuple[int, tuple[str, str]]], observation: str, admissible: Sequence[str]
) -> str:
    parts = [f"You are an agent that shops in a web shop by text actions.\nYour task is to: {task}"]
    if shown:
        pairs = "\n".join(
            f"[Observation {n}: '{_page(seen, task)}', Action {n}: '{action}']" for n, (seen, action) in shown
        )
        parts.append(f"You have taken {num_turns} step(s). The last {len(shown)}, with what you saw and did:\n{pairs}")
    parts.append(f"This is step {num_turns + 1}. You now observe: {_page(observation, task)}")
    parts.append(f"The actions that you can take now are:\n[{_actions(admissible)}]")
    parts.append(
        "First reason step by step about the situation, inside <think> </think> tags. "
        "Then choose one of the actions above and give it inside <action> </action> tags."
    )
    return "\n\n".join(parts)


def _page(observation: str, task: str) -> str:
    """Return a page without the instruction, its pieces in quotes."""
    before, mark, rest = observation.partition(f"{_MARK}{task}{_SEPARATOR}")
    pieces = (rest if mark else before).split(_SEPARATOR)
    return _SEPARATOR.join(f"'{piece}'" for piece in pieces)


def _actions(admissible: Sequence[str]) -> str:
    """Return the available actions as a list, with one entry for all searches."""
    clicks = [action for action in admissible if not action.startswith("search[")]
    bar = ["search[<your query>]"] if len(clicks) < len(admissible) else []
    return ",\n ".join(f"'{action}'" for action in [*bar, *clicks])
