"""Both oracles: one set of rules on the true state (planner) or the knowledge (explorer).

The rules are meant to be natural to imitate. Kinds of receptacles are searched in a fixed order that depends on the
kind of object (`priors.SEARCH_ORDER`), within a kind the lowest number first, and no receptacle twice. Of several
suitable objects, one at the agent's location comes first, then the one listed first. The oracles have no memory of
their own and act from any state, also with the wrong object in hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from cairn.envs.household.belief import BeliefState
from cairn.envs.household.goals import STATIONS
from cairn.envs.household.house import NOBODY, members
from cairn.envs.household.priors import DEFAULT_ORDER, SEARCH_ORDER


def next_action(view: BeliefState) -> str:
    """Return the next command, or "look" if no known object or receptacle helps."""
    if view.held == NOBODY:
        return _fetch(view)
    if view.object_kinds[view.held] != view.goal.object_kind:
        return _drop(view)
    if view.goal.is_look:
        return _light(view)
    if not view.treated >> view.held & 1:
        return _treat(view)
    return _place(view)


def _fetch(view: BeliefState) -> str:
    """Take an object that the goal asks for, or search for one."""
    settled = _settled(view)
    choices = [
        (not view.treated >> o & 1, r not in view.here, *_rank(view, r, view.goal.object_kind), o, r)
        for r, mask in enumerate(view.contents)
        for o in members(mask & ~settled)
        if view.object_kinds[o] == view.goal.object_kind
    ]
    if not choices:
        return _search(view, view.goal.object_kind)
    *_, o, r = min(choices)
    return _reach(view, r) or f"take {view.object_names[o]} from {view.receptacle_names[r]}"


def _settled(view: BeliefState) -> int:
    """Return the objects to leave in place: with two to bring, those already in the target."""
    target = _target(view)
    return view.contents[target] if view.goal.count == 2 and target != NOBODY else 0


def _treat(view: BeliefState) -> str:
    treatment = view.goal.treatment
    stations = [] if treatment is None else _of_kinds(view, STATIONS[treatment])
    if treatment is None or not stations:
        return "look"
    nearest = min(stations, key=lambda r: (r not in view.here, -r))
    if nearest not in view.here:
        return f"go to {view.receptacle_names[nearest]}"
    return f"{treatment} {view.object_names[view.held]} with {view.receptacle_names[nearest]}"


def _place(view: BeliefState) -> str:
    target = _target(view)
    if target == NOBODY:
        return "look"
    return _reach(view, target) or f"move {view.object_names[view.held]} to {view.receptacle_names[target]}"


def _light(view: BeliefState) -> str:
    """Find the lamp and switch it on, with the object in hand."""
    choices = [
        (r not in view.here, -r, o, r)
        for r, mask in enumerate(view.contents)
        for o in members(mask)
        if view.object_kinds[o] == view.goal.place_kind
    ]
    if not choices:
        return _search(view, view.goal.place_kind)
    *_, lamp, r = min(choices)
    return f"use {view.object_names[lamp]}" if r in view.here else f"go to {view.receptacle_names[r]}"


def _drop(view: BeliefState) -> str:
    """Put the wrong object down in a receptacle that accepts it.

    The explorer learns only at a receptacle whether it accepts the object, so it visits the likely ones in a fixed
    cycle.
    """
    name = view.object_names[view.held]
    known = list(members(view.accepting))
    if at_hand := [r for r in known if view.reachable >> r & 1]:
        return f"move {name} to {view.receptacle_names[at_hand[-1]]}"
    kind = view.object_kinds[view.held]
    order = sorted(known or range(len(view.receptacle_names)), key=lambda r: _rank(view, r, kind))
    closed = [r for r in view.here if not view.reachable >> r & 1]
    if closed and (not known or closed[0] in known):
        return f"open {view.receptacle_names[closed[0]]}"
    last = max((i for i, r in enumerate(order) if r in view.here), default=-1)
    away = [r for r in order[last + 1 :] + order[: last + 1] if r not in view.here]
    return f"go to {view.receptacle_names[away[0]]}" if away else "look"


def _search(view: BeliefState, kind: str) -> str:
    """Look into the likeliest receptacle that is still unexplored."""
    unexplored = [r for r in range(len(view.receptacle_names)) if not view.explored >> r & 1]
    if not unexplored:
        return "look"
    r = min(unexplored, key=lambda r: _rank(view, r, kind))
    return _reach(view, r) or f"examine {view.receptacle_names[r]}"


def _reach(view: BeliefState, r: int) -> str | None:
    """Return the next step towards an open receptacle at the agent's location; None once it is."""
    if r not in view.here:
        return f"go to {view.receptacle_names[r]}"
    return None if view.reachable >> r & 1 else f"open {view.receptacle_names[r]}"


def _target(view: BeliefState) -> int:
    """Return the target: the receptacle with most objects of the kind, then the lowest number.

    With one object to bring, always the lowest number.
    """

    def preference(r: int) -> tuple[int, int]:
        return (-sum(view.object_kinds[o] == view.goal.object_kind for o in members(view.contents[r])), -r)

    places = _of_kinds(view, (view.goal.place_kind,))
    if view.goal.count == 1:
        return max(places, default=NOBODY)
    return min(places, key=preference, default=NOBODY)


def _of_kinds(view: BeliefState, kinds: Iterable[str]) -> list[int]:
    return [r for r, kind in enumerate(view.receptacle_kinds) if kind in kinds]


def _rank(view: BeliefState, r: int, kind: str) -> tuple[int, int]:
    """Return a receptacle's rank in the search for a kind: likely kinds first, then low numbers."""
    order = SEARCH_ORDER.get(kind, ())
    place = view.receptacle_kinds[r]
    if place in order:
        return (order.index(place), -r)
    return (len(order) + DEFAULT_ORDER.index(place) if place in DEFAULT_ORDER else 1000, -r)
