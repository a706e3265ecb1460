"""A hand-written game small enough to work out by hand, and the places of the real data.

::

    spot a: fridge 1 (door)      egg 1 (cold), pan 1           spot d: desk 1    desklamp 1, apple 1, knife 1
    spot b: microwave 1 (door)                                 spot e: drawer 2 (door) book 2, drawer 1 (door) book 1
    spot c: sinkbasin 1          pan 1 (the same pan as in the fridge), mug 1 (holds spoon 1)

Raw ids are numbered by `bar_1`, `bar_2`, so within a kind number 1 is displayed as 2 and the other way round.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.envs.household.house import House
from cairn.envs.household.pddl import parse_game
from cairn.envs.household.rules import act
from cairn.envs.household.world import HouseState

_FACTS = """
(receptacleType Fridge_bar_1 FridgeType) (receptacleType Microwave_bar_1 MicrowaveType)
(receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType) (receptacleType Desk_bar_1 DeskType)
(receptacleType Drawer_bar_1 DrawerType) (receptacleType Drawer_bar_2 DrawerType)
(receptacleAtLocation Fridge_bar_1 loc_a) (receptacleAtLocation Microwave_bar_1 loc_b)
(receptacleAtLocation Sink_bar_1_bar_SinkBasin loc_c) (receptacleAtLocation Desk_bar_1 loc_d)
(receptacleAtLocation Drawer_bar_1 loc_e) (receptacleAtLocation Drawer_bar_2 loc_e)
(openable Fridge_bar_1) (openable Microwave_bar_1) (openable Drawer_bar_1) (openable Drawer_bar_2)
(objectType Egg_bar_1 EggType) (objectType Pan_bar_1 PanType) (objectType Mug_bar_1 MugType)
(objectType Spoon_bar_1 SpoonType) (objectType DeskLamp_bar_1 DeskLampType) (objectType Apple_bar_1 AppleType)
(objectType Knife_bar_1 KnifeType) (objectType Book_bar_1 BookType) (objectType Book_bar_2 BookType)
(inReceptacle Egg_bar_1 Fridge_bar_1) (objectAtLocation Egg_bar_1 loc_a) (isCool Egg_bar_1)
(inReceptacle Pan_bar_1 Fridge_bar_1) (inReceptacle Pan_bar_1 Sink_bar_1_bar_SinkBasin)
(objectAtLocation Pan_bar_1 loc_a)
(inReceptacle Mug_bar_1 Sink_bar_1_bar_SinkBasin) (objectAtLocation Mug_bar_1 loc_c)
(inReceptacleObject Spoon_bar_1 Mug_bar_1) (isReceptacleObject Mug_bar_1)
(inReceptacle DeskLamp_bar_1 Desk_bar_1) (objectAtLocation DeskLamp_bar_1 loc_d) (toggleable DeskLamp_bar_1)
(inReceptacle Apple_bar_1 Desk_bar_1) (objectAtLocation Apple_bar_1 loc_d)
(inReceptacle Knife_bar_1 Desk_bar_1) (objectAtLocation Knife_bar_1 loc_d)
(inReceptacle Book_bar_1 Drawer_bar_1) (objectAtLocation Book_bar_1 loc_e)
(inReceptacle Book_bar_2 Drawer_bar_2) (objectAtLocation Book_bar_2 loc_e)
(pickupable Egg_bar_1) (pickupable Pan_bar_1) (pickupable Mug_bar_1) (pickupable Apple_bar_1)
(pickupable Knife_bar_1) (pickupable Book_bar_1) (pickupable Book_bar_2)
(cleanable Egg_bar_1) (cleanable Apple_bar_1) (cleanable Mug_bar_1) (cleanable Knife_bar_1)
(heatable Egg_bar_1) (heatable Apple_bar_1) (heatable Mug_bar_1)
(coolable Egg_bar_1) (coolable Apple_bar_1) (coolable Mug_bar_1) (coolable Pan_bar_1)
(sliceable Egg_bar_1) (sliceable Apple_bar_1)
(canContain FridgeType EggType) (canContain FridgeType AppleType) (canContain FridgeType PanType)
(canContain MicrowaveType EggType) (canContain MicrowaveType AppleType) (canContain MicrowaveType MugType)
(canContain SinkBasinType MugType) (canContain SinkBasinType PanType) (canContain SinkBasinType KnifeType)
(canContain DeskType MugType) (canContain DeskType AppleType) (canContain DeskType KnifeType)
(canContain DeskType BookType) (canContain DrawerType BookType) (canContain DrawerType KnifeType)
(atLocation agent1 loc_start)
"""
_PLACE = "(exists (?r - receptacle) (exists (?o - object) (and {} ) ) )"
GOALS = {
    "pick_and_place_simple": _PLACE.format(
        "(inReceptacle ?o ?r) (objectType ?o AppleType) (receptacleType ?r FridgeType)"
    ),
    "pick_clean_then_place_in_recep": _PLACE.format(
        "(cleanable ?o) (objectType ?o AppleType) (receptacleType ?r DeskType) (isClean ?o) (inReceptacle ?o ?r)"
    ),
    "pick_heat_then_place_in_recep": _PLACE.format(
        "(heatable ?o) (objectType ?o EggType) (receptacleType ?r FridgeType) (isHot ?o) (inReceptacle ?o ?r)"
    ),
    "pick_cool_then_place_in_recep": _PLACE.format(
        "(coolable ?o) (objectType ?o EggType) (receptacleType ?r MicrowaveType) (isCool ?o) (inReceptacle ?o ?r)"
    ),
    "pick_two_obj_and_place": (
        "(exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 BookType) "
        "(receptacleType ?r DrawerType) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) "
        "(objectType ?o2 BookType) (receptacleType ?r DrawerType) (inReceptacle ?o2 ?r) ) ) ) ) )"
    ),
    "look_at_obj_in_light": (
        "(exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot DeskLampType) "
        "(toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r) ) ) "
        "(exists (?o - object ?a - agent) (and (objectType ?o BookType) (holds ?a ?o) ) )"
    ),
}
TASK = "Your task is to: do it."


def problem(task_type: str = "pick_and_place_simple", *, facts: str = _FACTS, extra: str = "") -> str:
    """Return the PDDL text of the game with one of the six goals, laid out as game files are."""
    return (
        "\n(define (problem plan)\n(:domain alfred)\n(:objects\nagent1 - agent\n)\n(:init\n"
        f"{facts}{extra})\n\n        (:goal\n             (and\n                 {GOALS[task_type]}\n"
        "             )\n        )\n    )\n"
    )


def house(task_type: str = "pick_and_place_simple", *, extra: str = "") -> House:
    """Return the parsed game."""
    return parse_game(problem(task_type, extra=extra), task=TASK, game="tiny")


def walk(world: HouseState, *commands: str) -> str:
    """Carry out commands, all of which must apply; return the last text."""
    text = ""
    for command in commands:
        assert command in world.options, f"{command!r} does not apply; {sorted(world.options)}"
        text = act(world, command)
    return text


def data_folder() -> Path:
    """Return the folder of the real games; skip the test if it is missing."""
    folder = Path(os.environ.get("CAIRN_DATA", "nowhere")) / "alfworld"
    if not (folder / "valid_seen.jsonl.gz").is_file():
        pytest.skip("needs the ALFWorld games: set CAIRN_DATA to the folder that holds alfworld/valid_seen.jsonl.gz")
    return folder
