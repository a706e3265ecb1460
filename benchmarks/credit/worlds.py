"""The six problems of CreditBench, each with several random tasks, as `DecisionRules`.

===========  ==========================================================  ==========================================
fetch        find an object in a closed place, bring it to another; a    sparse: most states are seen once
             radio has no effect, but its station is visible
shop         search, page, open, choose options, buy; part scores        graded rewards, many states
doors        a grid with a key, a door and inescapable pits              irreversible dead ends
chain        ten turns, one of which is decisive                         the rest is noise
slippery     the fetch problem with fewer places; one action in five     stochastic outcomes
             does nothing
aliased      fetch with one observation for all actions without effect   equal anchors, different states
===========  ==========================================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cairn.benchmarks.credit.mdp import Action, DecisionRules, Outcome, State


def fetch(seed: int) -> DecisionRules:
    """Six places, three of them closed, and a radio; 24 turns."""
    return _fetch(seed, places=6, closed=3, stations=64, horizon=24)


def slippery(seed: int) -> DecisionRules:
    """Five places, two of them closed; one action in five does nothing; 24 turns."""
    return _fetch(seed, places=5, closed=2, horizon=24, failure=0.2)


def aliased(seed: int) -> DecisionRules:
    """Five places, two of them closed.

    All actions without effect give the same observation.
    """
    return _fetch(seed, places=5, closed=2, horizon=24, is_aliased=True)


def _fetch(
    seed: int,
    *,
    places: int,
    closed: int,
    horizon: int,
    stations: int = 1,
    failure: float = 0.0,
    is_aliased: bool = False,
) -> DecisionRules:
    """Bring the object from its place to its target, opening closed places on the way.

    The radio has no effect on the score.

    State: the agent's place, the open places, the object's place (-1: in hand), the radio's station, and whether the
    last action had no effect. Actions without effect only exist in the aliased problem.
    """
    rng = np.random.default_rng([seed, places])
    target, home = (int(i) for i in rng.permutation(places)[:2])
    start = (0, tuple(i >= closed for i in range(places)), home, 0, False)
    every = [*(("go", i) for i in range(places)), ("open", 0), ("take", 0), ("put", 0)]
    every += [("tune", i) for i in range(4)] if stations > 1 else []

    def effect(state: State, action: Action) -> State:
        at, is_open, where, station, _ = state
        verb, i = action
        if verb == "go":
            return (i, is_open, where, station, i == at)
        if verb == "open" and not is_open[at]:
            return (at, (*is_open[:at], True, *is_open[at + 1 :]), where, station, False)
        if verb == "take" and where == at and is_open[at]:
            return (at, is_open, -1, station, False)
        if verb == "put" and where == -1 and is_open[at]:
            return (at, is_open, at, station, False)
        if verb == "tune":
            return (at, is_open, where, (4 * station + i) % stations, False)
        return (at, is_open, where, station, True)

    def actions(state: State) -> Sequence[Action]:
        return every if is_aliased else [action for action in every if not effect(state, action)[4]]

    def outcomes(state: State, action: Action) -> Sequence[Outcome]:
        after = effect(state, action)
        is_done = after[2] == target
        works: Outcome = (1.0 - failure, after, float(is_done), is_done)
        return [works, (failure, state, 0.0, False)] if failure else [works]

    def observe(state: State) -> object:
        return "nothing happens" if is_aliased and state[4] else state

    return DecisionRules(start=start, actions=actions, outcomes=outcomes, horizon=horizon, observe=observe)


def shop(seed: int) -> DecisionRules:
    """Four queries of two pages of three items, two options of three values; 15 turns.

    The score depends on the matching attributes.

    State: ("search",), ("page", query, page), ("item", query, page, item, first option, second option).
    """
    rng = np.random.default_rng(seed)
    wanted = (int(rng.integers(4)), int(rng.integers(2)), int(rng.integers(3)))
    options = (int(rng.integers(3)), int(rng.integers(3)))
    searches: list[Action] = [("search", q) for q in range(4)]

    def actions(state: State) -> Sequence[Action]:
        kind = state[0]
        if kind == "search":
            return searches
        if kind == "page":
            return [("open", i) for i in range(3)] + [("turn", 0), ("back", 0)]
        return [("choose", k, v) for k in range(2) for v in range(3)] + [("buy",), ("back", 0)]

    def outcomes(state: State, action: Action) -> Sequence[Outcome]:
        match state, action:
            case _, ("search", q):
                return [(1.0, ("page", q, 0), 0.0, False)]
            case ("page", q, p), ("open", i):
                return [(1.0, ("item", q, p, i, -1, -1), 0.0, False)]
            case ("page", q, p), ("turn", _):
                return [(1.0, ("page", q, 1 - p), 0.0, False)]
            case ("page", *_), ("back", _):
                return [(1.0, ("search",), 0.0, False)]
            case ("item", q, p, i, first, second), ("choose", k, v):
                chosen = (v, second) if k == 0 else (first, v)
                return [(1.0, ("item", q, p, i, *chosen), 0.0, False)]
            case ("item", q, p, i, first, second), ("buy",):
                score = _score((q, p, i), (first, second), wanted, options)
                return [(1.0, state, score, True)]
            case ("item", q, p, *_), ("back", _):
                return [(1.0, ("page", q, p), 0.0, False)]
        raise ValueError(f"no action {action!r} in {state!r}")

    return DecisionRules(start=("search",), actions=actions, outcomes=outcomes, horizon=15)


def _score(item: tuple[int, ...], chosen: tuple[int, ...], wanted: tuple[int, ...], options: tuple[int, ...]) -> float:
    """Return 1 for the wanted item with its options, 0.5 for the item, less for its query."""
    matches = sum(x == y for x, y in zip(chosen, options, strict=True))
    if item == wanted:
        return 0.5 + 0.25 * matches
    return 0.1 + 0.05 * matches if item[0] == wanted[0] else 0.0


def doors(seed: int) -> DecisionRules:
    """A grid of 6 x 5 with a wall, a door, a key on the start's side, and pits; 30 turns.

    State: (x, y, has key), or "pit".
    """
    rng = np.random.default_rng(seed)
    wide, high, wall = 6, 5, 3
    door = int(rng.integers(high))
    left = [(x, y) for x in range(wall) for y in range(high) if (x, y) != (0, 0) and (x, y) != (wall - 1, door)]
    right = [(x, y) for x in range(wall + 1, wide) for y in range(high) if (x, y) != (wall + 1, door)]
    key, *pits = (left[i] for i in rng.permutation(len(left))[:3])
    goal, pit = (right[i] for i in rng.permutation(len(right))[:2])
    holes = {*pits, pit}
    steps = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}

    def outcomes(state: State, action: Action) -> Sequence[Outcome]:
        if state == "pit":
            return [(1.0, "pit", 0.0, False)]
        x, y, has_key = state
        if action == "pick":
            return [(1.0, (x, y, has_key or (x, y) == key), 0.0, False)]
        dx, dy = steps[action]
        to = (min(max(x + dx, 0), wide - 1), min(max(y + dy, 0), high - 1))
        if to[0] == wall and (to[1] != door or not has_key):
            to = (x, y)
        if to in holes:
            return [(1.0, "pit", 0.0, False)]
        return [(1.0, (*to, has_key), float(to == goal), to == goal)]

    return DecisionRules(start=(0, 0, False), actions=lambda _: [*steps, "pick"], outcomes=outcomes, horizon=30)


def chain(seed: int) -> DecisionRules:
    """Ten turns of three actions; at one turn, one action is right.

    All other actions only change the observation.

    State: turn, last two actions, whether the right action was taken.
    """
    rng = np.random.default_rng(seed)
    decisive, right = int(rng.integers(2, 8)), int(rng.integers(3))

    def outcomes(state: State, action: Action) -> Sequence[Outcome]:
        turn, _, last, is_right = state
        is_right = action == right if turn == decisive else is_right
        terminated = turn == 9
        return [(1.0, (turn + 1, last, action, is_right), float(terminated and is_right), terminated)]

    return DecisionRules(start=(0, -1, -1, False), actions=lambda _: range(3), outcomes=outcomes, horizon=10)


WORLDS: dict[str, Callable[[int], DecisionRules]] = {
    "fetch": fetch,
    "shop": shop,
    "doors": doors,
    "chain": chain,
    "slippery": slippery,
    "aliased": aliased,
}
