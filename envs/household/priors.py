"""Common sense about homes: furniture, objects, their usual places and their abilities.

Written by hand. The generator furnishes houses by these tables and the oracles search by them, in real games too; the
rules of a real game come only from its file.
"""

from __future__ import annotations

from cairn.envs.household.goals import TaskType


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ROOMS = ("kitchen", "living room", "bedroom", "bathroom")

# Receptacles that every such room has, then the largest number of each kind that a room may have.
ESSENTIAL: dict[str, tuple[str, ...]] = {
    "kitchen": _words("countertop fridge microwave sinkbasin cabinet"),
    "living room": _words("sofa coffeetable sidetable"),
    "bedroom": _words("bed desk drawer"),
    "bathroom": _words("sinkbasin toilet countertop"),
}
MOST: dict[str, dict[str, int]] = {
    "kitchen": {
        "cabinet": 14, "drawer": 8, "stoveburner": 4, "countertop": 3, "diningtable": 2, "shelf": 3, "fridge": 1,
        "microwave": 1, "sinkbasin": 1, "coffeemachine": 1, "toaster": 1, "garbagecan": 1, "sidetable": 1,
    },
    "living room": {
        "drawer": 8, "shelf": 8, "cabinet": 4, "armchair": 2, "sidetable": 3, "diningtable": 1, "sofa": 2,
        "coffeetable": 2, "tvstand": 1, "dresser": 1, "garbagecan": 1, "ottoman": 1, "desk": 1, "safe": 1,
    },
    "bedroom": {
        "drawer": 10, "shelf": 6, "cabinet": 4, "sidetable": 2, "bed": 2, "desk": 2, "dresser": 1, "safe": 1,
        "garbagecan": 1, "armchair": 1, "laundryhamper": 1, "diningtable": 1,
    },
    "bathroom": {
        "cabinet": 6, "drawer": 6, "shelf": 3, "towelholder": 2, "handtowelholder": 2, "countertop": 2,
        "sinkbasin": 2, "toilet": 1, "bathtubbasin": 1, "toiletpaperhanger": 1, "garbagecan": 1, "sidetable": 1,
        "cart": 1,
    },
}  # fmt: skip
DOORED = _words("cabinet drawer fridge microwave safe")

# Kinds of receptacles that can hold an object, in the order in which to search: likeliest first per step of search.
_FOOD = _words("fridge countertop diningtable sinkbasin microwave garbagecan sidetable")
_CUTLERY = _words("countertop diningtable sinkbasin sidetable drawer")
_SMALL = _words(
    "desk dresser sidetable coffeetable diningtable bed sofa armchair tvstand countertop shelf drawer safe cabinet "
    "garbagecan ottoman"
)
_WASH = _words(
    "toilet countertop sinkbasin bathtubbasin garbagecan cart diningtable sidetable shelf dresser cabinet drawer"
)
_SHOWPIECE = _words("coffeetable diningtable countertop sidetable dresser tvstand desk shelf cabinet")
SEARCH_ORDER: dict[str, tuple[str, ...]] = {
    "apple": _FOOD,
    "bread": _words("countertop diningtable fridge sidetable microwave garbagecan"),
    "egg": _FOOD,
    "lettuce": _FOOD,
    "potato": _FOOD,
    "tomato": _FOOD,
    "bowl": _words(
        "fridge countertop diningtable desk dresser sidetable coffeetable sinkbasin microwave shelf cabinet"
    ),
    "cup": _words("fridge countertop diningtable microwave sinkbasin sidetable shelf cabinet"),
    "mug": _words(
        "coffeemachine fridge countertop diningtable microwave sinkbasin desk sidetable dresser shelf cabinet drawer"
    ),
    "plate": _words("countertop diningtable fridge sinkbasin microwave coffeetable sidetable shelf cabinet"),
    "pan": _words("stoveburner countertop diningtable fridge sinkbasin cabinet"),
    "pot": _words("stoveburner countertop diningtable fridge sinkbasin shelf cabinet"),
    "kettle": _words("stoveburner countertop diningtable sinkbasin shelf cabinet"),
    "fork": _CUTLERY,
    "spoon": _CUTLERY,
    "knife": _CUTLERY,
    "butterknife": _CUTLERY,
    "spatula": _CUTLERY,
    "ladle": _words("countertop diningtable sinkbasin drawer cabinet"),
    "saltshaker": _words("countertop diningtable sidetable shelf cabinet drawer"),
    "peppershaker": _words("countertop diningtable sidetable shelf cabinet drawer"),
    "dishsponge": _words(
        "countertop diningtable sinkbasin garbagecan bathtubbasin toilet sidetable cart shelf drawer cabinet"
    ),
    "winebottle": _words("countertop diningtable garbagecan fridge sidetable shelf cabinet"),
    "glassbottle": _words("countertop diningtable fridge sinkbasin garbagecan shelf cabinet"),
    "papertowelroll": _words("countertop diningtable garbagecan toilet sidetable cart shelf"),
    "soapbottle": _words(
        "countertop toilet diningtable garbagecan sinkbasin sidetable cart dresser shelf cabinet drawer"
    ),
    "alarmclock": _words("desk sidetable dresser diningtable shelf countertop"),
    "book": _words("bed desk diningtable coffeetable sofa armchair sidetable dresser countertop shelf drawer cabinet"),
    "box": _words("sofa coffeetable diningtable armchair sidetable desk dresser ottoman tvstand shelf cabinet"),
    "cd": _SMALL,
    "cellphone": ("bed", *(kind for kind in _SMALL if kind != "bed")),
    "creditcard": _SMALL,
    "keychain": _SMALL,
    "pen": _SMALL,
    "pencil": _SMALL,
    "watch": _words("coffeetable dresser diningtable sidetable tvstand desk shelf drawer safe"),
    "remotecontrol": _words(
        "coffeetable sofa tvstand armchair diningtable dresser sidetable desk ottoman shelf drawer"
    ),
    "newspaper": _words(
        "sofa coffeetable diningtable armchair sidetable dresser ottoman tvstand bed desk shelf drawer garbagecan"
    ),
    "laptop": _words("bed desk sofa coffeetable diningtable armchair dresser sidetable ottoman tvstand"),
    "pillow": _words("bed sofa armchair ottoman"),
    "teddybear": _words("bed sofa armchair"),
    "statue": _SHOWPIECE,
    "vase": _SHOWPIECE,
    "candle": _words("toilet countertop coffeetable sidetable dresser cart diningtable shelf drawer cabinet"),
    "tissuebox": _words(
        "coffeetable countertop desk sidetable diningtable toilet cart dresser tvstand shelf drawer cabinet"
    ),
    "wateringcan": _words("coffeetable sidetable shelf"),
    "cloth": _words("bathtubbasin countertop sinkbasin toilet cart shelf cabinet drawer"),
    "handtowel": _words("handtowelholder countertop toilet garbagecan sinkbasin cabinet"),
    "towel": _words("towelholder countertop bathtubbasin"),
    "soapbar": _WASH,
    "spraybottle": _WASH,
    "toiletpaper": ("toiletpaperhanger", *_WASH),
    "desklamp": _words("desk sidetable dresser coffeetable diningtable shelf"),
    "floorlamp": _words("sofa armchair bed"),
}
# Search order for kinds of receptacles that are not listed above: open surfaces before doors.
DEFAULT_ORDER = _words(
    "desk coffeetable diningtable countertop sidetable dresser bed sofa armchair toilet sinkbasin fridge microwave "
    "stoveburner coffeemachine tvstand bathtubbasin garbagecan shelf cart ottoman toaster safe cabinet drawer "
    "towelholder handtowelholder toiletpaperhanger laundryhamper"
)

# Objects that the generator puts into each room.
OBJECTS: dict[str, tuple[str, ...]] = {
    "kitchen": _words(
        "apple bread egg lettuce potato tomato bowl cup mug plate pan pot kettle fork spoon knife butterknife spatula "
        "ladle saltshaker peppershaker dishsponge winebottle glassbottle papertowelroll soapbottle"
    ),
    "living room": _words(
        "book box creditcard keychain laptop newspaper pen pillow remotecontrol statue tissuebox vase watch "
        "wateringcan cellphone"
    ),
    "bedroom": _words(
        "alarmclock book bowl box cd cellphone creditcard keychain laptop mug pen pencil pillow teddybear"
    ),
    "bathroom": _words(
        "candle cloth dishsponge handtowel papertowelroll soapbar soapbottle spraybottle tissuebox toiletpaper towel"
    ),
}

# Fewer kinds for tiny houses: each occurs often, so that an agent learns them all from little experience.
FEW_OBJECTS: dict[str, tuple[str, ...]] = {
    "kitchen": _words("apple egg potato tomato mug plate pan knife spoon"),
    "living room": _words("book keychain laptop pillow remotecontrol vase watch"),
    "bedroom": _words("book cellphone keychain laptop mug pencil pillow"),
    "bathroom": _words("candle cloth soapbar soapbottle spraybottle toiletpaper"),
}

ABILITIES: dict[str, tuple[str, ...]] = {
    "cleanable": _words(
        "apple bowl butterknife cloth cup dishsponge egg fork kettle knife ladle lettuce mug pan plate pot potato "
        "soapbar spatula spoon tomato"
    ),
    "heatable": _words("apple bread cup egg mug plate potato tomato"),
    "coolable": _words("apple bowl bread cup egg lettuce mug pan plate pot potato tomato winebottle"),
    "sliceable": _words("apple bread egg lettuce potato tomato"),
    "isreceptacleobject": _words("bowl box cup mug pan plate pot"),
    "toggleable": _words("desklamp floorlamp"),
}

TASK_ROOMS: dict[TaskType, tuple[str, ...]] = {
    "pick_and_place_simple": ROOMS,
    "look_at_obj_in_light": ("living room", "bedroom"),
    "pick_clean_then_place_in_recep": ("kitchen", "bathroom"),
    "pick_heat_then_place_in_recep": ("kitchen",),
    "pick_cool_then_place_in_recep": ("kitchen",),
    "pick_two_obj_and_place": ROOMS,
}
