"""The effect and the text of each command, word for word as the original.

`HouseState.options` determines the commands that apply.
"""

from __future__ import annotations

from collections.abc import Callable

from cairn.envs.household.house import NOBODY, join_names, members
from cairn.envs.household.world import HouseState

NOTHING_HAPPENS = "Nothing happens."
# The original's help text, typos of layout included, since agents were trained on it.
HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def act(world: HouseState, command: str) -> str:
    """Carry out a command and return the game's text; one that does not apply changes nothing."""
    option = world.options.get(command)
    if option is None:
        return NOTHING_HAPPENS
    verb, first, second = option
    return _RULES[verb](world, first, second)


def _show(world: HouseState, r: int) -> str:
    """Return the visible contents of a receptacle, and record that they were shown."""
    house, name = world.house, world.house.receptacle_names[r]
    if not house.openable >> r & 1:
        world.memory.see(r, world.inside[r])
        return f"On the {name}, you see {house.list_objects(world.inside[r])}."
    if not world.opened >> r & 1:
        return f"The {name} is closed."
    world.memory.see(r, world.inside[r])
    return f"The {name} is open. In it, you see {house.list_objects(world.inside[r])}."


def _go(world: HouseState, r: int, _: int) -> str:
    world.location = world.house.receptacle_spots[r]
    world.moved()
    return f"You arrive at {world.house.receptacle_names[r]}. {_show(world, r)}"


def _open(world: HouseState, r: int, _: int) -> str:
    world.opened |= 1 << r
    world.moved()
    return f"You open the {world.house.receptacle_names[r]}. {_show(world, r)}"


def _close(world: HouseState, r: int, _: int) -> str:
    world.opened &= ~(1 << r)
    world.moved()
    return f"You close the {world.house.receptacle_names[r]}."


def _take(world: HouseState, o: int, r: int) -> str:
    bit = 1 << o
    world.inside[r] &= ~bit
    world.at[world.location] &= ~bit
    world.gaps[r] |= bit & world.house.gap_masks[r]
    world.held = o
    world.memory.take(o, r)
    world.changed()
    return f"You pick up the {world.house.object_names[o]} from the {world.house.receptacle_names[r]}."


def _move(world: HouseState, o: int, r: int) -> str:
    bit = 1 << o
    world.inside[r] |= bit
    world.at[world.location] |= bit
    world.gaps[r] &= ~bit
    world.held = NOBODY
    world.memory.put(o, r)
    world.changed()
    return f"You move the {world.house.object_names[o]} to the {world.house.receptacle_names[r]}."


def _clean(world: HouseState, o: int, r: int) -> str:
    world.clean |= 1 << o
    world.memory.treat("clean", o)
    world.changed()
    return f"You clean the {world.house.object_names[o]} using the {world.house.receptacle_names[r]}."


def _heat(world: HouseState, o: int, r: int) -> str:
    world.hot |= 1 << o
    world.cool &= ~(1 << o)
    world.memory.treat("heat", o)
    world.changed()
    return f"You heat the {world.house.object_names[o]} using the {world.house.receptacle_names[r]}."


def _cool(world: HouseState, o: int, r: int) -> str:
    world.cool |= 1 << o
    world.hot &= ~(1 << o)
    world.memory.treat("cool", o)
    world.changed()
    return f"You cool the {world.house.object_names[o]} using the {world.house.receptacle_names[r]}."


def _use(world: HouseState, o: int, _: int) -> str:
    world.toggled |= 1 << o
    world.changed()
    return f"You turn on the {world.house.object_names[o]}."


def _slice(world: HouseState, o: int, knife: int) -> str:
    world.sliced |= 1 << o
    world.changed()
    return f"You sliced the {world.house.object_names[o]} with the {world.house.object_names[knife]}."


def _examine(world: HouseState, r: int, _: int) -> str:
    return _show(world, r)


def _inspect(world: HouseState, o: int, _: int) -> str:
    name, bit = world.house.object_names[o], 1 << o
    if world.house.vessel_mask & bit:
        contents = world.house.list_objects(world.house.vessel_contents.get(o, 0))
        return f"This is a normal {name}. In it, you see {contents}."
    marks = (world.hot, world.cool, world.clean, world.sliced)
    is_hot, is_cool, is_clean, is_sliced = (bool(mark & bit) for mark in marks)
    warmth = "hot" if is_hot else "cool" if is_cool else ""
    if is_cool and not is_hot and not is_clean and not is_sliced:
        warmth = "cold"  # the original's word for an object that is only cool
    words = " and ".join(word for word in (warmth, "clean" if is_clean else "") if word)
    if is_sliced and words:
        words += " sliced"
    if words:
        return f"This is a {words} {name}."
    if world.toggled & bit:
        return f"This {name} is on."
    return f"This is a sliced {name}." if is_sliced else f"There's nothing special about {name}."


def _look(world: HouseState, _: int, __: int) -> str:
    here = world.house.spots[world.location]
    if not here:
        return "You are in the middle of a room. Looking quickly around you, you see nothing."
    facing = join_names([world.house.receptacle_names[r] for r in here])
    taken = sorted(o for r in here for o in members(world.gaps[r] & world.at[world.location]))
    beside = join_names([f"a {world.house.object_names[o]}" for o in taken])
    return f"You are facing the {facing}. Next to it, you see {beside}."


def _inventory(world: HouseState, _: int, __: int) -> str:
    if world.held == NOBODY:
        return "You are not carrying anything."
    return f"You are carrying: a {world.house.object_names[world.held]}."


def _help(world: HouseState, _: int, __: int) -> str:
    return HELP


_RULES: dict[str, Callable[[HouseState, int, int], str]] = {
    "go": _go, "open": _open, "close": _close, "take": _take, "move": _move, "clean": _clean, "heat": _heat,
    "cool": _cool, "use": _use, "slice": _slice, "examine": _examine, "inspect": _inspect, "look": _look,
    "inventory": _inventory, "help": _help,
}  # fmt: skip
