"""The oracles' input: the full state of the house, or only its observed part.

A `BeliefState` holds no reference to the world, so the explorer knows only the facts that `observed_view` puts into it:
listed contents, the state of doors at the agent's location, and the results of the agent's own actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cairn.envs.household.goals import Goal
from cairn.envs.household.house import NOBODY, members
from cairn.envs.household.world import HouseState


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefState:
    """One agent's knowledge; sets are integers with one bit for each receptacle or object."""

    goal: Goal
    receptacle_names: tuple[str, ...]  # [R] listed in the first observation
    receptacle_kinds: tuple[str, ...]  # [R]
    here: tuple[int, ...]  # receptacles at the agent's location
    reachable: int  # receptacles here that are open or have no door
    explored: int  # receptacles whose contents are known
    contents: tuple[int, ...]  # [R] objects known to be in each
    held: int  # object in hand, or NOBODY
    object_names: Mapping[int, str]  # of known objects
    object_kinds: Mapping[int, str]
    treated: int  # known objects treated as the goal asks (clean, hot or cool); every known one if it asks for none
    accepting: int  # receptacles known to take the object in hand


def observed_view(world: HouseState) -> BeliefState:
    """Return the facts that the episode's observations have shown so far."""
    memory, treatment = world.memory, world.house.goal.treatment
    treated = memory.treated[treatment] if treatment else -1
    reachable = _reachable(world)
    accepting = reachable & _accepting(world)  # "move ... to ..." is offered here
    return _view(world, memory.explored, tuple(memory.shown), treated, accepting)


def full_view(world: HouseState) -> BeliefState:
    """Return the true state of the house."""
    marks = {"clean": world.clean, "heat": world.hot, "cool": world.cool}
    treatment = world.house.goal.treatment
    everything = (1 << len(world.inside)) - 1
    return _view(world, everything, tuple(world.inside), marks[treatment] if treatment else -1, _accepting(world))


def _view(world: HouseState, explored: int, contents: tuple[int, ...], treated: int, accepting: int) -> BeliefState:
    house = world.house
    known = 0
    for mask in contents:
        known |= mask
    if world.held != NOBODY:
        known |= 1 << world.held
    return BeliefState(
        goal=house.goal,
        receptacle_names=house.receptacle_names,
        receptacle_kinds=house.receptacle_kinds,
        here=house.spots[world.location],
        reachable=_reachable(world),
        explored=explored,
        contents=contents,
        held=world.held,
        object_names={o: house.object_names[o] for o in members(known)},
        object_kinds={o: house.object_kinds[o] for o in members(known)},
        treated=treated & known,
        accepting=accepting,
    )


def _reachable(world: HouseState) -> int:
    here = sum(1 << r for r in world.house.spots[world.location])
    return here & (world.opened | ~world.house.openable)


def _accepting(world: HouseState) -> int:
    if world.held == NOBODY:
        return 0
    return sum(1 << r for r, fits in enumerate(world.house.fits) if fits >> world.held & 1)
