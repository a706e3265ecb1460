"""Generates any number of houses and tasks from a seed, in splits that share no house.

A house's layout (receptacles grouped by location, with the objects in each, without numbers) has a 64-bit fingerprint.
The fingerprint's last two bits determine the layout's split, and a draw that belongs to another split is discarded. So
no house occurs in two splits, for all sizes, seeds and tasks. Each task is solvable by construction: the house contains
the objects that the goal asks for, outside the goal's receptacles. Not modelled: objects inside other objects, and
objects that start cool.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from cairn.core.keys import text_key
from cairn.core.seeding import python_generator
from cairn.envs.household.facts import GameFacts, build_house
from cairn.envs.household.goals import STATIONS, TREATMENTS, Goal, TaskType
from cairn.envs.household.house import House
from cairn.envs.household.priors import (
    ABILITIES,
    DOORED,
    ESSENTIAL,
    FEW_OBJECTS,
    MOST,
    OBJECTS,
    SEARCH_ORDER,
    TASK_ROOMS,
)

Size = Literal["tiny", "small", "medium", "full"]
GENERATED_SPLITS = ("gen-train", "gen-valid", "gen-test")
MAX_TASKS = 1_000_000
# Fingerprint mod 4 -> split: half of all layouts are for training.
_SPLIT_OF = ("gen-train", "gen-train", "gen-valid", "gen-test")
_RECEPTACLES: dict[Size, tuple[int, int]] = {"tiny": (5, 8), "small": (6, 10), "medium": (11, 16), "full": (16, 36)}
_OBJECTS: dict[Size, tuple[int, int]] = {"tiny": (5, 9), "small": (8, 14), "medium": (14, 24), "full": (22, 45)}
_ABILITY = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
_SHARED_SPOT = 0.15  # probability that a receptacle shares the location of the one before it
_FADE = 0.65  # each further kind of receptacle in the search order is this much less likely to hold an object


@dataclass(frozen=True, slots=True)
class RoomLayout:
    """A furnished room before its receptacles and objects are numbered."""

    receptacles: tuple[str, ...]  # [R] kinds
    spots: tuple[int, ...]  # [R] location of each
    objects: tuple[tuple[str, int], ...]  # (kind, receptacle)

    def fingerprint(self) -> int:
        """Return a key that does not depend on the order of receptacles, locations and objects."""
        contents: list[list[str]] = [[] for _ in self.receptacles]
        for kind, r in self.objects:
            contents[r].append(kind)
        places: dict[int, list[tuple[str, list[str]]]] = {}
        for kind, spot, inside in zip(self.receptacles, self.spots, contents, strict=True):
            places.setdefault(spot, []).append((kind, sorted(inside)))
        return text_key(repr(sorted(sorted(place) for place in places.values())))


@lru_cache(maxsize=512)
def generate(split: str, index: int, *, size: Size, task_types: tuple[TaskType, ...]) -> House:
    """Return house `index` of a split; the task types alternate.

    Equal arguments give equal houses in any process.
    """
    task_type = task_types[index % len(task_types)]
    rng = python_generator("household", split, size, task_type, index)
    while True:
        room = rng.choice(TASK_ROOMS[task_type])
        kinds = (FEW_OBJECTS if size == "tiny" else OBJECTS)[room]
        goal = _draw_goal(task_type, room, kinds, rng)
        layout = _draw_layout(goal, room, kinds, size, rng)
        if _SPLIT_OF[layout.fingerprint() % 4] == split:
            break
    facts = _state_facts(layout)
    return build_house(facts, goal=goal, task=goal.sentence(rng.randrange(2)), game=f"{split}/{index:06d}")


def _draw_goal(task_type: TaskType, room: str, kinds: Sequence[str], rng: random.Random) -> Goal:
    """Return a goal that the room can be furnished for.

    The object can lie in at least one other kind of receptacle than the goal's.
    """
    treatment = TREATMENTS.get(task_type)
    able = [kind for kind in kinds if treatment is None or kind in ABILITIES[_ABILITY[treatment]]]
    if task_type == "look_at_obj_in_light":
        return Goal(task_type=task_type, object_kind=rng.choice(able), place_kind="desklamp")
    stations = STATIONS[treatment] if treatment else ()
    while True:
        kind = rng.choice(able)
        places = [place for place in SEARCH_ORDER[kind] if place in MOST[room]]
        targets = [place for place in places if place not in stations]
        if len(places) > 1 and targets:
            return Goal(task_type=task_type, object_kind=kind, place_kind=rng.choice(targets))


def _draw_layout(goal: Goal, room: str, kinds: Sequence[str], size: Size, rng: random.Random) -> RoomLayout:
    receptacles = _draw_receptacles(goal, room, rng.randint(*_RECEPTACLES[size]), rng)
    spots = [0]
    for _ in receptacles[1:]:
        spots.append(spots[-1] + (rng.random() >= _SHARED_SPOT))
    objects = _draw_wanted(goal, receptacles, rng)
    total = rng.randint(*_OBJECTS[size])
    room_kinds = [kind for kind in kinds if kind != goal.object_kind]
    used = dict.fromkeys(room_kinds, 0)
    for _ in range(4 * total):  # skips kinds that fit nowhere here or have three objects already
        if len(objects) >= total:
            break
        kind = rng.choice(room_kinds)
        if used[kind] < 3 and (place := _draw_place(kind, receptacles, "", rng)) is not None:
            used[kind] += 1
            objects.append((kind, place))
    return RoomLayout(tuple(receptacles), tuple(spots), tuple(objects))


def _draw_receptacles(goal: Goal, room: str, total: int, rng: random.Random) -> list[str]:
    """Return kinds of receptacles: essential ones, those the goal needs, then random others.

    The random ones are drawn in proportion to their numbers in large rooms.
    """
    needed = [*ESSENTIAL[room], *([] if goal.is_look else [goal.place_kind])]
    needed.append(
        next(kind for kind in SEARCH_ORDER[goal.object_kind] if kind in MOST[room] and kind != goal.place_kind)
    )
    receptacles = list(dict.fromkeys(needed))
    left = {kind: most - (kind in receptacles) for kind, most in MOST[room].items()}
    pool = [kind for kind, most in left.items() for _ in range(most)]
    rng.shuffle(pool)
    receptacles += pool[: max(total - len(receptacles), 0)]
    rng.shuffle(receptacles)
    return receptacles


def _draw_wanted(goal: Goal, receptacles: list[str], rng: random.Random) -> list[tuple[str, int]]:
    """Place the objects that the goal asks for, sometimes one more, never in a goal receptacle."""
    count = goal.count + (rng.random() < 0.25)
    kinds = [goal.object_kind] * count + (["desklamp"] if goal.is_look else [])
    places = [(kind, _draw_place(kind, receptacles, goal.place_kind, rng)) for kind in kinds]
    return [(kind, place) for kind, place in places if place is not None]


def _draw_place(kind: str, receptacles: list[str], barred: str, rng: random.Random) -> int | None:
    """Return a receptacle for an object, likely kinds more often; None if none in the room fits."""
    order = SEARCH_ORDER[kind]
    choices = [r for r, place in enumerate(receptacles) if place in order and place != barred]
    if not choices:
        return None
    weights = [_FADE ** order.index(receptacles[r]) for r in choices]
    return rng.choices(choices, weights)[0]


def _state_facts(layout: RoomLayout) -> GameFacts:
    """Return the layout as the facts of a game file, with raw ids."""
    receptacles = [_raw_id(kind, i) for i, kind in enumerate(layout.receptacles)]
    objects = [_raw_id(kind, i) for i, (kind, _) in enumerate(layout.objects)]
    kinds = {raw: kind for raw, (kind, _) in zip(objects, layout.objects, strict=True)}
    spots = {raw: f"loc_bar_{spot:03d}" for raw, spot in zip(receptacles, layout.spots, strict=True)}
    inside = [(raw, receptacles[r]) for raw, (_, r) in zip(objects, layout.objects, strict=True)]
    traits = {ability: {raw for raw, kind in kinds.items() if kind in able} for ability, able in ABILITIES.items()}
    traits["pickupable"] = {raw for raw, kind in kinds.items() if kind not in ABILITIES["toggleable"]}
    traits["openable"] = {raw for raw, kind in zip(receptacles, layout.receptacles, strict=True) if kind in DOORED}
    present = set(kinds.values())
    return GameFacts(
        ids={*receptacles, *objects},
        receptacle_kinds=dict(zip(receptacles, layout.receptacles, strict=True)),
        receptacle_spots=spots,
        object_kinds=kinds,
        inside=inside,
        object_spots=[(o, spots[r]) for o, r in inside],
        can_contain={(place, kind) for kind in present for place in SEARCH_ORDER[kind] if place in layout.receptacles},
        start="loc_bar_start",
        traits=traits,
    )


def _raw_id(kind: str, number: int) -> str:
    """Return an id in the games' form; a sink's basin is named after the sink."""
    base = kind.removesuffix("basin")
    return f"{base}_bar_{number:03d}" + ("_bar_basin" if base != kind else "")
