"""Static part of a game: receptacles, objects, allowed placements, initial state, goal.

Receptacles and objects are numbered in the order of their raw ids, in which all texts list them. A set of objects or
receptacles is an integer with one bit for each. Nothing here changes after construction except a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cairn.envs.household.goals import Goal, Treatment

Option = tuple[str, int, int]  # verb of `rules`; its object or receptacle; its second receptacle or object, or -1
NOBODY = -1

_ALWAYS: dict[str, Option] = {name: (name, NOBODY, NOBODY) for name in ("help", "inventory", "look")}


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """The static part of one game.

    R receptacles, N objects, L locations; `*_mask` fields are sets of objects.
    """

    game: str  # task id
    goal: Goal
    task: str  # the sentence that states the goal
    receptacle_names: tuple[str, ...]  # [R] e.g. "drawer 3"
    receptacle_kinds: tuple[str, ...]  # [R] e.g. "drawer"
    receptacle_spots: tuple[int, ...]  # [R] location of each
    object_names: tuple[str, ...]  # [N]
    object_kinds: tuple[str, ...]  # [N]; "" if the game gives no type: such an object fits nowhere
    spots: tuple[tuple[int, ...], ...]  # [L] receptacles at each location, ascending; may be empty
    start: int  # location
    openable: int  # set of receptacles
    opened: int  # initial set of receptacles
    inside: tuple[int, ...]  # [R] initial set of objects in each; some real games put one object in two receptacles
    at: tuple[int, ...]  # [L] initial set of objects stated to be at each location
    fits: tuple[int, ...]  # [R] set of objects that may be put into each
    pickup_mask: int
    clean_mask: int  # objects that can be cleaned; the masks below likewise
    heat_mask: int
    cool_mask: int
    toggle_mask: int
    slice_mask: int
    knife_mask: int
    vessel_mask: int  # "receptacle objects" such as mugs: `examine` lists their contents
    vessel_contents: dict[int, int]  # object -> set of objects in it
    first_marks: dict[str, int]  # "hot", "cool", "clean", "sliced", "toggled" -> initial set of objects
    irregular_mask: int  # objects whose location does not follow from their receptacle
    gap_masks: tuple[int, ...]  # [R] objects that `look` may list after they were taken from here
    wanted_mask: int  # objects of the goal's kind that can be treated as the goal asks
    goal_places: tuple[int, ...]  # receptacles of the goal's kind; empty for "look"
    lamp_mask: int  # lamps of the goal's kind; empty unless "look"
    stations: dict[Treatment, int]  # "clean", "heat", "cool" -> set of receptacles that give the treatment
    _travel: dict[int, dict[str, Option]] = field(default_factory=dict, compare=False, repr=False)  # cache of `travel`

    def travel(self, location: int) -> dict[str, Option]:
        """Return the options that depend on the location alone: "go to ...", help, inventory, look.

        They are sorted.
        """
        cached = self._travel.get(location)
        if cached is None:
            spots = self.receptacle_spots
            away = {name: option for name, option in self._all_travel().items() if spots[option[1]] != location}
            cached = self._travel[location] = away | _ALWAYS
        return cached

    def _all_travel(self) -> dict[str, Option]:
        """Return "go to ..." for every receptacle; cached, so all locations share the strings."""
        if NOBODY not in self._travel:
            going: dict[str, Option] = {
                f"go to {name}": ("go", r, NOBODY) for r, name in enumerate(self.receptacle_names)
            }
            self._travel[NOBODY] = {name: going[name] for name in sorted(going)}
        return self._travel[NOBODY]

    def list_objects(self, mask: int) -> str:
        """Return e.g. "a pen 1, and a book 2", or "nothing"."""
        return join_names([f"a {self.object_names[o]}" for o in members(mask)])

    def intro(self, task: str | None = None) -> str:
        """Return the first text of an episode; `task` replaces the house's own task sentence."""
        seen = join_names([f"a {name}" for name in self.receptacle_names])
        return (
            "-= Welcome to TextWorld, ALFRED! =-\n\n"
            f"You are in the middle of a room. Looking quickly around you, you see {seen}.\n\n{task or self.task}"
        )


def members(mask: int) -> Iterator[int]:
    """Yield the elements of a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def join_names(names: list[str]) -> str:
    """Join names as the game's texts do: a comma before "and" even for two; "nothing" for none."""
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"
