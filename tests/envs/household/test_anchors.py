"""Anchors: equal ones mean equal futures, tasks share none, and each kind distinguishes the states that it declares."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.envs.household.env import HouseholdEnv
from cairn.envs.household.pddl import parse_game
from cairn.envs.household.rules import act
from cairn.envs.household.world import HouseState
from tests.envs.household import tiny
from tests.envs.household.tiny import walk

pytestmark = pytest.mark.rotating(3)

_Future = dict[str, tuple[str, bytes, bool]]


def _future(world: HouseState) -> _Future:
    """Return, for every command, the text, the next key and whether the goal then holds; `world` is left as it was."""
    saved = world.save()
    future = {}
    for command in world.options:
        text = act(world, command)
        future[command] = (text, world.key(), world.is_solved)
        world.load(saved)
    return future


# A desk, and two shelves at one spot, with all that is odd in real games: an egg said to be where it is not, a pan on
# both shelves, and a knife to slice with. Small enough to reach every state.
_ODD = """
(receptacleType Desk_bar_1 DeskType) (receptacleType Shelf_bar_1 ShelfType) (receptacleType Shelf_bar_2 ShelfType)
(receptacleAtLocation Desk_bar_1 loc_d)
(receptacleAtLocation Shelf_bar_1 loc_e) (receptacleAtLocation Shelf_bar_2 loc_e)
(objectType Egg_bar_1 EggType) (inReceptacle Egg_bar_1 Shelf_bar_1) (objectAtLocation Egg_bar_1 loc_d)
(objectType Pan_bar_1 PanType) (inReceptacle Pan_bar_1 Shelf_bar_1) (inReceptacle Pan_bar_1 Shelf_bar_2)
(objectAtLocation Pan_bar_1 loc_e) (objectAtLocation Pan_bar_1 loc_d)
(objectType Knife_bar_1 KnifeType) (inReceptacle Knife_bar_1 Desk_bar_1) (objectAtLocation Knife_bar_1 loc_d)
(objectType DeskLamp_bar_1 DeskLampType) (inReceptacle DeskLamp_bar_1 Desk_bar_1) (toggleable DeskLamp_bar_1)
(pickupable Egg_bar_1) (pickupable Pan_bar_1) (pickupable Knife_bar_1) (sliceable Egg_bar_1)
(canContain DeskType EggType) (canContain DeskType PanType) (canContain DeskType KnifeType)
(canContain ShelfType EggType) (canContain ShelfType PanType) (canContain ShelfType KnifeType)
(atLocation agent1 loc_start)
"""


@pytest.mark.rotating(9)
@pytest.mark.parametrize("task_type", ["pick_and_place_simple", "look_at_obj_in_light"])
def test_states_with_one_key_have_one_future(task_type: str) -> None:
    """Visit every raw state; where several have one key, their next texts and keys must be the same.

    Equal next texts and keys for every such pair means equal futures of any length.
    """
    world = HouseState(parse_game(tiny.problem(task_type, facts=_ODD), task=tiny.TASK, game="odd"))
    futures: dict[bytes, _Future] = {}
    queue = deque([world.save()])
    raw: set[Any] = {queue[0][:2]}  # without the observed facts: the state's key does not contain them
    while queue:
        saved = queue.popleft()
        world.load(saved)
        key, future = world.key(), _future(world)
        assert futures.setdefault(key, future) == future
        for command in future:
            world.load(saved)
            act(world, command)
            if world.save()[:2] not in raw:
                raw.add(world.save()[:2])
                queue.append(world.save())
    assert len(raw) > 1.3 * len(futures)  # so there was something to compare


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), index=st.integers(0, 50))
def test_equal_anchors_have_equal_futures_in_generated_houses(seed: int, index: int) -> None:
    rng = random.Random(seed)
    env = HouseholdEnv()
    seen: dict[int, tuple[Any, ...]] = {}
    _, info = env.reset(options={"task": f"gen-train/{index:06d}"})
    for _ in range(40):
        snapshot = env.snapshot()
        if info["anchor"] in seen:
            action = rng.choice(info["admissible_actions"])
            future = env.step(action)
            env.restore(seen[info["anchor"]])
            again = env.step(action)
            assert (again[0:3], again[4]) == (future[0:3], future[4])
            env.restore(snapshot)
        seen[info["anchor"]] = snapshot
        _, _, terminated, truncated, info = env.step(rng.choice(info["admissible_actions"]))
        if terminated or truncated:
            break


def test_texts_and_detours_leave_no_trace_in_the_state() -> None:
    world = HouseState(tiny.house())
    walk(world, "go to drawer 1")
    before = world.key()
    walk(world, "look", "inventory", "help", "examine drawer 1", "open drawer 2", "close drawer 2")
    walk(
        world, "go to desk 1", "use desklamp 1", "take apple 1 from desk 1", "move apple 1 to desk 1", "go to drawer 2"
    )
    assert world.key() == before


def test_a_lit_lamp_is_part_of_the_state_only_where_light_is_asked_for() -> None:
    world = HouseState(tiny.house("look_at_obj_in_light"))
    walk(world, "go to desk 1")
    before = world.key()
    walk(world, "use desklamp 1")
    assert world.key() != before


@pytest.mark.parametrize(
    "commands",
    [
        ["go to drawer 1"],
        ["go to drawer 1", "open drawer 1"],
        ["go to desk 1", "take apple 1 from desk 1"],
        ["go to desk 1", "take apple 1 from desk 1", "go to microwave 1", "heat apple 1 with microwave 1"],
        ["go to drawer 1", "open drawer 1", "open drawer 2", "take book 1 from drawer 1", "move book 1 to drawer 2"],
    ],
)
def test_each_change_that_can_show_changes_the_key(commands: list[str]) -> None:
    world = HouseState(tiny.house())
    keys = [world.key()]
    for command in commands:
        walk(world, command)
        keys.append(world.key())
    assert len(set(keys)) == len(keys)


def test_anchors_of_different_tasks_differ() -> None:
    env = HouseholdEnv()
    anchors = {env.reset(options={"task": task})[1]["anchor"] for task in env.tasks()[:100]}
    assert len(anchors) == 100


def test_observation_anchors_distinguish_texts_only() -> None:
    env = HouseholdEnv(anchor="observation")
    _, info = env.reset(options={"task": "gen-train/000000"})
    start = info["anchor"]
    going = [command for command in info["admissible_actions"] if command.startswith("go to")]
    anchors = [env.step(command)[4]["anchor"] for command in ("look", "inventory", going[0], "inventory")]
    assert anchors[1] == anchors[3]  # the same text in two places
    assert len({start, *anchors}) == 4


def test_belief_anchors_also_distinguish_observed_facts() -> None:
    state, belief = HouseholdEnv(), HouseholdEnv(anchor="belief")
    keys = {}
    for env in (state, belief):
        _, info = env.reset(options={"task": "gen-train/000000"})
        going = [command for command in info["admissible_actions"] if command.startswith("go to")]
        direct = env.step(going[0])[4]["anchor"]
        env.step(going[1])
        keys[env.config.anchor] = (direct, env.step(going[0])[4]["anchor"])
    assert keys["state"][0] == keys["state"][1]
    assert keys["belief"][0] != keys["belief"][1]


@pytest.mark.rotating(9)
def test_keys_are_as_coarse_as_they_can_be() -> None:
    """Merge states until only those with different futures are apart (partition refinement): no two keys merge."""
    world = HouseState(parse_game(tiny.problem(facts=_ODD), task=tiny.TASK, game="odd"))
    futures: dict[bytes, _Future] = {}
    queue = deque([world.save()])
    while queue:
        world.load(saved := queue.popleft())
        key = world.key()
        if key in futures:
            continue
        futures[key] = _future(world)
        for command in futures[key]:
            world.load(saved)
            act(world, command)
            queue.append(world.save())
    classes, count = dict.fromkeys(futures, 0), 0
    while count < (count := len(set(classes.values()))):
        numbers: dict[Any, int] = {}
        for key, future in futures.items():
            signature = tuple((c, text, solved, classes[after]) for c, (text, after, solved) in future.items())
            classes[key] = numbers.setdefault(signature, len(numbers))
    assert count == len(futures)
