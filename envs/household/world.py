"""The changing state of a house: applicable commands, goal test, saving, comparing.

The effect and the text of each command are in `rules`. Sets of objects and of receptacles are integers with one bit for
each.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from cairn.envs.household.goals import Treatment
from cairn.envs.household.house import NOBODY, House, Option, members
from cairn.envs.household.memory import Memory

_name_of: Callable[[tuple[str, Option]], str] = itemgetter(0)


class HouseState:
    """The changing state of one house."""

    __slots__ = (
        "_is_solved", "_options", "_rows", "at", "clean", "cool", "gaps", "held", "hot", "house", "inside", "location",
        "memory", "opened", "sliced", "toggled",
    )  # fmt: skip

    def __init__(self, house: House) -> None:
        marks = house.first_marks
        self.house = house
        self.location = house.start
        self.held = NOBODY
        self.opened = house.opened  # set of receptacles
        self.inside = list(house.inside)  # [R] set of objects in each
        self.at = list(house.at)  # [L] set of objects stated to be at each location
        self.gaps = [0] * len(house.inside)  # [R] objects taken from each and not put back, if `look` may list them
        self.hot, self.cool, self.clean = marks["hot"], marks["cool"], marks["clean"]
        self.sliced, self.toggled = marks["sliced"], marks["toggled"]
        self.memory = Memory(len(house.inside))
        self._options: dict[str, Option] | None = None
        self._is_solved: bool | None = None
        self._rows: bytes | None = None

    @property
    def options(self) -> dict[str, Option]:
        """Every command that applies now, in alphabetical order."""
        if self._options is None:
            self._options = self._list_options()
        return self._options

    @property
    def is_solved(self) -> bool:
        """Whether the goal holds."""
        if self._is_solved is None:
            self._is_solved = self._is_lit() if self.house.goal.is_look else self._is_placed()
        return self._is_solved

    def moved(self) -> None:
        """Clear the caches that depend on the agent's location and the doors."""
        self._options = self._is_solved = None

    def changed(self) -> None:
        """Clear all caches."""
        self.moved()
        self._rows = None

    # -- saving ------------------------------------------------------------------------------------------------------

    def key(self) -> bytes:
        """Return the state in canonical form.

        Equal bytes of one house mean equal futures under equal commands.
        """
        if self._rows is None:
            self._rows = self._pack()
        return b"%d,%d,%d," % (self.location, self.held, self.opened) + self._rows

    def save(self) -> tuple[Any, ...]:  # Any: ints and tuples of ints, read by `load` only
        """Return everything that changes."""
        return (
            (self.location, self.held, self.opened, self.hot, self.cool, self.clean, self.sliced, self.toggled),
            (tuple(self.inside), tuple(self.at), tuple(self.gaps)),
            self.memory.save(),
        )

    def load(self, saved: tuple[Any, ...]) -> None:  # Any: see save
        """Restore a state that `save` returned for the same house."""
        scalars, lists, memory = saved
        self.location, self.held, self.opened, self.hot, self.cool, self.clean, self.sliced, self.toggled = scalars
        self.inside, self.at, self.gaps = map(list, lists)
        self.memory.load(memory)
        self.changed()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _pack(self) -> bytes:
        """Return the state without location, hand and open doors, which change at almost every step.

        Leaves out two kinds of facts that no text can ever show. First, lit lamps if the task does not ask for light
        and they cannot be examined. Second, the stated location of an object if it follows from its receptacle (see
        `House.irregular_mask`) or if neither `slice` nor `look` can depend on it. `look` depends only on objects taken
        from that very location; taking one there removes its stated location, so a later move has stated it again.
        """
        house = self.house
        lamps = house.lamp_mask | (house.toggle_mask & house.pickup_mask)
        width = (len(house.object_names) + 7) // 8
        rows = [*self.inside, self.hot, self.cool, self.clean, self.sliced, self.toggled & lamps]
        for r, mask in enumerate(house.gap_masks):
            if mask:
                rows.append(self.gaps[r])
        if house.irregular_mask:
            for spot, receptacles in enumerate(house.spots):
                asked = house.slice_mask if house.knife_mask else 0
                for r in receptacles:
                    asked |= self.gaps[r]
                rows.append(self.at[spot] & house.irregular_mask & asked)
        return b"".join([row.to_bytes(width, "little") for row in rows])

    def _list_options(self) -> dict[str, Option]:
        """Return the sorted options: those before "go to", the travels, those after "look"."""
        before: list[tuple[str, Option]] = []
        after: list[tuple[str, Option]] = []
        for r in self.house.spots[self.location]:
            self._add_receptacle(r, before, after)
        if self.held != NOBODY:
            self._add_held(before, after)
        before.sort(key=_name_of)
        after.sort(key=_name_of)
        options = {**dict(before), **self.house.travel(self.location), **dict(after)}
        if any(option[0] == "heat" for _, option in before):
            return dict(sorted(options.items(), key=_name_of))  # "heat" alone sorts between "go to" and "help"
        return options

    def _add_receptacle(self, r: int, before: list[tuple[str, Option]], after: list[tuple[str, Option]]) -> None:
        """Add the commands for one receptacle at the agent's location."""
        house, held = self.house, self.held
        name, names, mask = house.receptacle_names[r], house.object_names, self.inside[r]
        before.append((f"examine {name}", ("examine", r, NOBODY)))
        is_open = True
        if house.openable >> r & 1:
            is_open = bool(self.opened >> r & 1)
            if is_open:
                before.append((f"close {name}", ("close", r, NOBODY)))
            else:
                after.append((f"open {name}", ("open", r, NOBODY)))
        if lamps := mask & house.toggle_mask:
            after.extend((f"use {names[o]}", ("use", o, NOBODY)) for o in members(lamps))
        if held != NOBODY:
            if is_open and house.fits[r] >> held & 1:
                after.append((f"move {names[held]} to {name}", ("move", held, r)))
        elif is_open:
            after.extend((f"take {names[o]} from {name}", ("take", o, r)) for o in members(mask & house.pickup_mask))

    def _add_held(self, before: list[tuple[str, Option]], after: list[tuple[str, Option]]) -> None:
        """Add the commands for the object in hand."""
        house, held = self.house, self.held
        name, here = house.object_names[held], house.spots[self.location]
        before.append((f"examine {name}", ("inspect", held, NOBODY)))
        abilities: tuple[tuple[Treatment, int], ...] = (
            ("clean", house.clean_mask),
            ("heat", house.heat_mask),
            ("cool", house.cool_mask),
        )
        for verb, mask in abilities:
            if mask >> held & 1:
                stations = [r for r in here if house.stations[verb] >> r & 1]
                before.extend((f"{verb} {name} with {house.receptacle_names[r]}", (verb, held, r)) for r in stations)
        if house.knife_mask >> held & 1:
            for o in members(house.slice_mask & self.at[self.location]):
                after.append((f"slice {house.object_names[o]} with {name}", ("slice", o, held)))

    def _is_placed(self) -> bool:
        house, goal = self.house, self.house.goal
        marks = {"clean": self.clean, "heat": self.hot, "cool": self.cool}
        ready = house.wanted_mask & marks[goal.treatment] if goal.treatment else house.wanted_mask
        if not ready:
            return False
        needed = goal.count
        return any((self.inside[r] & ready).bit_count() >= needed for r in house.goal_places)

    def _is_lit(self) -> bool:
        if self.held == NOBODY or not self.house.wanted_mask >> self.held & 1:
            return False
        lit = self.toggled & self.house.lamp_mask
        return any(self.inside[r] & lit for r in self.house.spots[self.location])
