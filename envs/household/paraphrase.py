"""Paraphrases of the household: reworded tasks, renamed commands, shuffled lists.

Every wording names the same object kind, receptacle kind, treatment and number as the task's own sentence, and begins
with the same words, by which prompts find the task.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cairn.envs.household.goals import Goal, TaskType
from cairn.envs.household.house import join_names
from cairn.envs.household.rules import HELP

# {o} is the object's kind, {r} the receptacle's or the lamp's.
_FRAMES: dict[TaskType, tuple[str, ...]] = {
    "pick_and_place_simple": (
        "find a {o} and leave it in or on the {r}",
        "see to it that a {o} ends up in or on the {r}",
        "bring a {o} to the {r} and put it there",
        "the {r} should have a {o} in or on it; take one there",
    ),
    "look_at_obj_in_light": (
        "pick up a {o} and switch on the {r} to see it well",
        "hold a {o} in the light of the {r}, switched on",
        "turn on the {r} and look at a {o} in its light",
        "use the {r} for a good look at a {o} in your hand",
    ),
    "pick_clean_then_place_in_recep": (
        "make a {o} clean and leave it in or on the {r}",
        "see to it that a {o} that you clean first ends up in or on the {r}",
        "take a {o}, clean it, and bring it to the {r}",
        "the {r} should have a clean {o} in or on it",
    ),
    "pick_heat_then_place_in_recep": (
        "make a {o} hot and leave it in or on the {r}",
        "see to it that a {o} that you heat first ends up in or on the {r}",
        "take a {o}, heat it, and bring it to the {r}",
        "the {r} should have a hot {o} in or on it",
    ),
    "pick_cool_then_place_in_recep": (
        "make a {o} cool and leave it in or on the {r}",
        "see to it that a {o} that you cool first ends up in or on the {r}",
        "take a {o}, cool it, and bring it to the {r}",
        "the {r} should have a cool {o} in or on it",
    ),
    "pick_two_obj_and_place": (
        "get two {o} into or onto one {r}",
        "see to it that two {o} end up in or on the same {r}",
        "bring two {o}, one after the other, to one {r}",
        "one {r} should have two {o} in or on it",
    ),
}
COMMANDS = {
    "go to": ("walk to", "head to", "approach"),
    "open": ("unlatch", "pull open"),
    "close": ("shut", "push shut"),
    "take": ("grab", "pick up", "fetch"),
    "move": ("put", "carry", "transfer"),
    "examine": ("inspect", "study", "check"),
    "use": ("switch on", "operate", "activate"),
    "heat": ("warm", "warm up"),
    "clean": ("wash", "rinse"),
    "cool": ("chill", "cool down"),
    "slice": ("cut", "carve"),
    "look": ("look around", "glance around", "observe"),
    "inventory": ("belongings", "show what is carried"),
    "help": ("show commands", "manual"),
}
_SEEN = re.compile(r"you see (a [^.\n]*)\.")
_FACED = re.compile(r"You are facing the ([^.\n]*)\. Next")


def reworded(goal: Goal, own: str) -> tuple[str, ...]:
    """Return other wordings of a task; empty if its own sentence is not one of the goal's two."""
    if own not in (goal.sentence(0), goal.sentence(1)):
        return ()
    texts = [frame.format(o=goal.object_kind, r=goal.place_kind) for frame in _FRAMES[goal.task_type]]
    return tuple(f"Your task is to: {text}." for text in texts)


def rename_commands(text: str, rename: Callable[[str], str]) -> str:
    """Return a text with `rename` applied to its commands, the parts before the help's colons.

    Only the help lists commands.
    """
    if text != HELP:
        return text
    head, *lines = text.splitlines(keepends=True)
    parts = [line.partition(":") for line in lines]
    return head + "".join(f"{rename(form)}{colon}{about}" for form, colon, about in parts)


def shuffle_lists(text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
    """Return a text with its lists of receptacles and objects shuffled."""
    text = _SEEN.sub(lambda found: f"you see {_shuffled(found[1], shuffle)}.", text)
    return _FACED.sub(lambda found: f"You are facing the {_shuffled(found[1], shuffle)}. Next", text)


def _shuffled(listed: str, shuffle: Callable[[list[str]], list[str]]) -> str:
    return join_names(shuffle(listed.replace(", and ", ", ").split(", ")))
