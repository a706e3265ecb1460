"""Prompt and reply format of the published GiGPO runs on ALFWorld, as text functions.

`build_prompt` shows the task, the last `HISTORY_LENGTH` turns, the current observation and the admissible commands;
`parse_reply` reads ``<think>...</think><action>...</action>`` (see `envs.tagged_reply`). The layout and the rules of
validity follow the public code; the wording is Cairn's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.envs.tagged_reply import TaggedReply, parse_tagged, write_tagged

__all__ = ["TaggedReply", "build_prompt", "parse_reply", "task_of", "write_reply"]

HISTORY_LENGTH = 2  # turns shown
INVALID_PENALTY = 0.1  # subtracted from the reward of a turn with an invalid reply
SUCCESS_REWARD = 10.0  # reward of those runs for the environment's 1.0
FALLBACK_CHARS = 30  # without tags, the last characters of the reply are sent as the command

_TASK_MARK = "Your task is to: "


def task_of(intro: str) -> str:
    """Return the task from an episode's first text, e.g. "put a mug in desk.".

    Raises:
        ValueError: the text states no task.
    """
    _, mark, task = intro.partition(_TASK_MARK)
    if not mark:
        raise ValueError(f"Expected a text with {_TASK_MARK!r}, got {intro[:200]!r}")
    return task.strip()


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
    commands = "\n ".join(f"'{command}'" for command in admissible if command != "help")
    parts = [f"You are an agent that acts in a household by text commands.\nYour task is to: {task}"]
    if shown := list(enumerate(history, start=1))[max(len(history) - history_length, 0) :]:
        pairs = "\n".join(f"[Observation {n}: '{seen}', Action {n}: '{action}']" for n, (seen, action) in shown)
        parts.append(
            f"You have taken {len(history)} step(s). The last {len(shown)}, with what you saw and did:\n{pairs}"
        )
    parts.append(f"This is step {len(history) + 1}. You now observe: {observation}")
    parts.append(f"The commands that you can use now are:\n[{commands}]")
    parts.append(
        "First reason step by step about the situation, inside <think> </think> tags. "
        "Then choose one of the commands above and give it inside <action> </action> tags."
    )
    return "\n\n".join(parts)


def write_reply(action: str) -> str:
    """Return a valid reply with `action` and an empty thought."""
    return write_tagged(action)


def parse_reply(reply: str) -> TaggedReply:
    """Return the action in a reply and whether the reply was valid; never raises."""
    return parse_tagged(reply, FALLBACK_CHARS)
