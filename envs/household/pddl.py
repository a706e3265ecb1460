"""Parses a game's `pddl_problem` text into a `House`, without a planner.

Parsing takes a few milliseconds. It reads only the parts that ALFWorld's games contain: the facts of ``(:init ...)``
and a goal of one of six shapes. Lists
of objects and types are skipped, since every relevant id occurs in a fact. Limits: `MAX_TEXT`, and those of `facts`.
"""

from __future__ import annotations

import re
from collections import defaultdict

from cairn.core.errors import CairnError
from cairn.envs.household.facts import GameFacts, build_house
from cairn.envs.household.goals import Goal, TaskType
from cairn.envs.household.house import House

MAX_TEXT = 1 << 20


def _treated(ability: str, mark: str) -> str:
    return (
        r"\(and \(exists \(\?r - receptacle\) \(exists \(\?o - object\) \(and "
        rf"\({ability} \?o\) \(objecttype \?o (?P<object>\w+)type\) \(receptacletype \?r (?P<place>\w+)type\) "
        rf"\({mark} \?o\) \(inreceptacle \?o \?r\) \) \) \) \)"
    )


# The six goals of the 3,827 games, lower-cased, with single spaces.
_GOALS: dict[TaskType, re.Pattern[str]] = {
    "pick_and_place_simple": re.compile(
        r"\(and \(exists \(\?r - receptacle\) \(exists \(\?o - object\) \(and \(inreceptacle \?o \?r\) "
        r"\(objecttype \?o (?P<object>\w+)type\) \(receptacletype \?r (?P<place>\w+)type\) \) \) \) \)"
    ),
    "pick_clean_then_place_in_recep": re.compile(_treated("cleanable", "isclean")),
    "pick_heat_then_place_in_recep": re.compile(_treated("heatable", "ishot")),
    "pick_cool_then_place_in_recep": re.compile(_treated("coolable", "iscool")),
    "pick_two_obj_and_place": re.compile(
        r"\(and \(exists \(\?r - receptacle\) \(exists \(\?o1 - object\) \(and \(objecttype \?o1 (?P<object>\w+)type\) "
        r"\(receptacletype \?r (?P<place>\w+)type\) \(inreceptacle \?o1 \?r\) \(exists \(\?o2 - object\) \(and "
        r"\(not \(= \?o1 \?o2\)\) \(objecttype \?o2 (?P=object)type\) \(receptacletype \?r (?P=place)type\) "
        r"\(inreceptacle \?o2 \?r\) \) \) \) \) \) \)"
    ),
    "look_at_obj_in_light": re.compile(
        r"\(and \(exists \(\?ot - object \?r - receptacle \?a - agent \?l - location\) \(and "
        r"\(objecttype \?ot (?P<place>\w+)type\) \(toggleable \?ot\) \(istoggled \?ot\) "
        r"\(receptacleatlocation \?r \?l\) \(atlocation \?a \?l\) \(inreceptacle \?ot \?r\) \) \) "
        r"\(exists \(\?o - object \?a - agent\) \(and "
        r"\(objecttype \?o (?P<object>\w+)type\) \(holds \?a \?o\) \) \) \)"
    ),
}

# The number of arguments of each fact. An object of a fact with one argument needs no type of its own.
_ARITY = {
    "objecttype": 2, "receptacletype": 2, "inreceptacle": 2, "inreceptacleobject": 2, "objectatlocation": 2,
    "receptacleatlocation": 2, "cancontain": 2, "atlocation": 2, "openable": 1, "opened": 1, "pickupable": 1,
    "cleanable": 1, "heatable": 1, "coolable": 1, "toggleable": 1, "sliceable": 1, "isreceptacleobject": 1,
    "iscool": 1, "ishot": 1, "isclean": 1, "issliced": 1, "istoggled": 1,
}  # fmt: skip
_OF_RECEPTACLES = ("openable", "opened")
_Groups = dict[str, list[list[str]]]


def parse_game(problem: str, *, task: str, game: str) -> House:
    """Return the house of a game.

    Raises:
        CairnError: the text is malformed; names the game and the problem.
    """
    if not isinstance(problem, str) or len(problem) > MAX_TEXT:
        size = f"{len(problem)} characters" if isinstance(problem, str) else type(problem).__name__
        raise CairnError(f"Game {game!r}: expected a PDDL problem of at most {MAX_TEXT} characters, got {size}")
    text = problem.lower()
    init, goal = text.find("(:init"), text.find("(:goal")
    if not 0 <= init < goal:
        raise CairnError(f"Game {game!r}: expected (:init ...) and then (:goal ...) in its PDDL problem")
    groups = _read_facts(text[init + len("(:init") : goal], game)
    return build_house(_facts(groups, game), goal=_read_goal(text[goal:], game), task=task, game=game)


def _read_facts(text: str, game: str) -> _Groups:
    """Return the arguments of all facts by predicate."""
    groups: _Groups = defaultdict(list)
    for chunk in text.split("(")[1:]:
        words = chunk.split()
        # The closing bracket follows the last word with or without a space; after the last fact one more closes the
        # list.
        while words and words[-1] == ")":
            words.pop()
        if not words:
            raise CairnError(f"Game {game!r}: empty fact in (:init ...)")
        predicate, *arguments = [word.rstrip(")") for word in words]
        if _ARITY.get(predicate) != len(arguments) or ")" in chunk.rstrip(") \n\t\r"):
            raise CairnError(f"Game {game!r}: cannot read the fact {('(' + chunk.strip())[:200]!r} in (:init ...)")
        groups[predicate].append(arguments)
    return groups


def _read_goal(text: str, game: str) -> Goal:
    shape = " ".join(text.removeprefix("(:goal").split())
    for task_type, pattern in _GOALS.items():
        if match := pattern.match(shape):
            return Goal(task_type=task_type, object_kind=match["object"], place_kind=match["place"])
    raise CairnError(f"Game {game!r}: its goal is none of the six kinds that this engine plays: {shape[:300]!r}")


def _facts(groups: _Groups, game: str) -> GameFacts:
    if len(groups["atlocation"]) != 1:
        raise CairnError(f"Game {game!r}: expected one (atLocation agent LOCATION), got {len(groups['atlocation'])}")
    traits = {name: {row[0] for row in groups[name]} for name, arity in _ARITY.items() if arity == 1}
    inside = [(o, r) for o, r in groups["inreceptacle"]]
    nested = [(inner, outer) for inner, outer in groups["inreceptacleobject"]]
    object_spots = [(o, spot) for o, spot in groups["objectatlocation"]]
    untyped = {o for o, _ in (*inside, *object_spots)} | {o for pair in nested for o in pair}
    untyped |= {o for name, ids in traits.items() if name not in _OF_RECEPTACLES for o in ids}
    return GameFacts(
        ids={argument for rows in groups.values() for row in rows for argument in row},
        receptacle_kinds=_mapping(groups, "receptacletype", game, suffix="type"),
        receptacle_spots=_mapping(groups, "receptacleatlocation", game),
        object_kinds=dict.fromkeys(untyped, "") | _mapping(groups, "objecttype", game, suffix="type"),
        inside=inside,
        object_spots=object_spots,
        can_contain={(r.removesuffix("type"), o.removesuffix("type")) for r, o in groups["cancontain"]},
        start=groups["atlocation"][0][1],
        traits=traits,
        nested=nested,
    )


def _mapping(groups: _Groups, predicate: str, game: str, suffix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in groups[predicate]:
        if found.setdefault(key, value) != value:
            raise CairnError(f"Game {game!r}: two different facts {predicate} of {key!r}")
    return {key: value.removesuffix(suffix) for key, value in found.items()}
