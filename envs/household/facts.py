"""Builds a `House` from raw facts (of a game file or the generator): numbers, names, sets.

Raw ids look like ``drawer_bar__minus_00_dot_51_bar_...``; within a kind the first id in sorted order gets the highest
number, as in the original games.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cairn.core.errors import CairnError
from cairn.envs.household.goals import STATIONS, Goal
from cairn.envs.household.house import House

MAX_RECEPTACLES = 512
MAX_OBJECTS = 1024
_KNIVES = ("knife", "butterknife")
_ABILITIES = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
_MARKS = {"hot": "ishot", "cool": "iscool", "clean": "isclean", "sliced": "issliced", "toggled": "istoggled"}


@dataclass(slots=True, kw_only=True)
class GameFacts:
    """The facts of a game file, with raw ids; everything lower-case."""

    ids: set[str]  # every id that occurs anywhere; the numbers in names count all of them
    receptacle_kinds: dict[str, str]
    receptacle_spots: dict[str, str]
    object_kinds: dict[str, str]  # "" for an object without a type
    inside: list[tuple[str, str]]  # (object, receptacle)
    object_spots: list[tuple[str, str]]  # (object, location)
    can_contain: set[tuple[str, str]]  # (receptacle kind, object kind)
    start: str
    traits: dict[str, set[str]] = field(default_factory=dict)  # "openable", "pickupable", "ishot", ... -> ids
    nested: list[tuple[str, str]] = field(default_factory=list)  # (object, receptacle object)


def build_house(facts: GameFacts, *, goal: Goal, task: str, game: str) -> House:
    """Number the receptacles and objects and return the house.

    Raises:
        CairnError: a receptacle is invalid or a limit is exceeded; names the game and the receptacle or the sizes.
    """
    _check(facts, game)
    receptacles = {raw: i for i, raw in enumerate(sorted(facts.receptacle_kinds))}
    objects = {raw: i for i, raw in enumerate(sorted(facts.object_kinds))}
    names = number_names(facts.ids)
    object_kinds = [facts.object_kinds[raw] for raw in objects]
    kinds = [facts.receptacle_kinds[raw] for raw in receptacles]
    spot_ids = {raw: i for i, raw in enumerate(sorted({*facts.receptacle_spots.values(), facts.start}))}
    receptacle_spots = [spot_ids[facts.receptacle_spots[raw]] for raw in receptacles]
    spots = tuple(tuple(r for r, s in enumerate(receptacle_spots) if s == spot) for spot in range(len(spot_ids)))
    inside = _sets(len(receptacles), ((receptacles[r], objects[o]) for o, r in facts.inside))
    at = _sets(len(spots), ((spot_ids[s], objects[o]) for o, s in facts.object_spots if s in spot_ids))
    fits = _fits(facts.can_contain, kinds, object_kinds)
    masks = {trait: _mask(objects, ids) for trait, ids in facts.traits.items() if trait not in ("openable", "opened")}
    by_kind = _sets_by_kind(object_kinds)
    stations = {t: sum(1 << r for r, kind in enumerate(kinds) if kind in STATIONS[t]) for t in STATIONS}
    return House(
        game=game,
        goal=goal,
        task=task,
        receptacle_names=tuple(names[raw] for raw in receptacles),
        receptacle_kinds=tuple(kinds),
        receptacle_spots=tuple(receptacle_spots),
        object_names=tuple(names[raw] for raw in objects),
        object_kinds=tuple(object_kinds),
        spots=spots,
        start=spot_ids[facts.start],
        openable=_mask(receptacles, facts.traits.get("openable", set())),
        opened=_mask(receptacles, facts.traits.get("opened", set())),
        inside=tuple(inside),
        at=tuple(at),
        fits=tuple(fits),
        pickup_mask=masks.get("pickupable", 0),
        clean_mask=masks.get("cleanable", 0),
        heat_mask=masks.get("heatable", 0),
        cool_mask=masks.get("coolable", 0),
        toggle_mask=masks.get("toggleable", 0),
        slice_mask=masks.get("sliceable", 0),
        knife_mask=sum(by_kind.get(kind, 0) for kind in _KNIVES),
        vessel_mask=masks.get("isreceptacleobject", 0),
        vessel_contents=_vessel_contents(facts, objects),
        first_marks={mark: masks.get(trait, 0) for mark, trait in _MARKS.items()},
        irregular_mask=_irregular(inside, at, receptacle_spots),
        gap_masks=_gap_masks(inside, fits, receptacle_spots, spots),
        wanted_mask=_wanted(goal, by_kind, masks),
        goal_places=() if goal.is_look else tuple(r for r, kind in enumerate(kinds) if kind == goal.place_kind),
        lamp_mask=by_kind.get(goal.place_kind, 0) & masks.get("toggleable", 0) if goal.is_look else 0,
        stations=stations,
    )


def number_names(ids: Iterable[str]) -> dict[str, str]:
    """Map raw ids to displayed names.

    The first id of a kind in sorted order gets the highest number.
    """
    ordered = sorted(ids)
    bases = {raw: raw.partition("_bar_")[0] + ("basin" if "basin" in raw else "") for raw in ordered}
    left = Counter(bases.values())
    names = {}
    for raw, base in bases.items():
        names[raw] = f"{base} {left[base]}"
        left[base] -= 1
    return names


def _check(facts: GameFacts, game: str) -> None:
    if len(facts.receptacle_kinds) > MAX_RECEPTACLES or len(facts.object_kinds) > MAX_OBJECTS:
        raise CairnError(
            f"Game {game!r}: at most {MAX_RECEPTACLES} receptacles and {MAX_OBJECTS} objects, "
            f"got {len(facts.receptacle_kinds)} and {len(facts.object_kinds)}"
        )
    if both := facts.receptacle_kinds.keys() & facts.object_kinds.keys():
        raise CairnError(f"Game {game!r}: {min(both)!r} is both an object and a receptacle")
    for raw in facts.receptacle_kinds:
        if raw not in facts.receptacle_spots:
            raise CairnError(f"Game {game!r}: receptacle {raw!r} has no location (receptacleAtLocation)")
    for used in (*facts.receptacle_spots, *(receptacle for _, receptacle in facts.inside)):
        if used not in facts.receptacle_kinds:
            raise CairnError(f"Game {game!r}: receptacle {used!r} has no type (receptacleType)")


def _mask(index: Mapping[str, int], ids: Iterable[str]) -> int:
    return sum(1 << index[raw] for raw in ids if raw in index)


def _sets(length: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return one set of objects for each container, from (container, object) pairs."""
    sets = [0] * length
    for container, member in pairs:
        sets[container] |= 1 << member
    return sets


def _sets_by_kind(kinds: list[str]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for i, kind in enumerate(kinds):
        found[kind] |= 1 << i
    return found


def _fits(can_contain: set[tuple[str, str]], kinds: list[str], object_kinds: list[str]) -> list[int]:
    objects = _sets_by_kind(object_kinds)
    by_kind: dict[str, int] = defaultdict(int)
    for receptacle_kind, object_kind in can_contain:
        by_kind[receptacle_kind] |= objects.get(object_kind, 0)
    return [by_kind.get(kind, 0) for kind in kinds]


def _vessel_contents(facts: GameFacts, objects: Mapping[str, int]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for inner, outer in facts.nested:
        found[objects[outer]] |= 1 << objects[inner]
    return dict(found)


def _irregular(inside: list[int], at: list[int], receptacle_spots: list[int]) -> int:
    """Return the objects in two receptacles, or stated to be elsewhere than their receptacle.

    The location of any other object that can move follows from its receptacle, and this stays so.
    """
    once = twice = 0
    located = [0] * len(at)
    for r, mask in enumerate(inside):
        twice |= once & mask
        once |= mask
        located[receptacle_spots[r]] |= mask
    misplaced = 0
    for derived, stated in zip(located, at, strict=True):
        misplaced |= derived ^ stated
    return twice | (once & misplaced)


def _gap_masks(
    inside: list[int], fits: list[int], receptacle_spots: list[int], spots: tuple[tuple[int, ...], ...]
) -> tuple[int, ...]:
    """Return each receptacle's objects that another one at the same location can hold."""
    masks = []
    for r, spot in enumerate(receptacle_spots):
        mask = 0
        for other in spots[spot]:
            if other != r:
                mask |= fits[other] | inside[other]
        masks.append(mask)
    return tuple(masks)


def _wanted(goal: Goal, by_kind: Mapping[str, int], masks: Mapping[str, int]) -> int:
    mask = by_kind.get(goal.object_kind, 0)
    return mask & masks.get(_ABILITIES[goal.treatment], 0) if goal.treatment else mask
