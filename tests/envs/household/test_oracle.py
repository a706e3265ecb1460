"""The oracles: their actions in the tiny house, solved tasks from any state, and no access to hidden facts."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import pytest

from cairn.envs.household.belief import BeliefState, full_view, observed_view
from cairn.envs.household.env import HouseholdEnv
from cairn.envs.household.goals import TASK_TYPES
from cairn.envs.household.oracle import next_action
from cairn.envs.household.rules import act
from cairn.envs.household.world import HouseState
from tests.envs.household import tiny
from tests.envs.household.tiny import walk

_GENERATED = [("gen-test", "tiny"), ("gen-train", "small"), ("gen-valid", "medium"), ("gen-test", "full")]


def _finish(world: HouseState, name: str, limit: int = 50) -> list[str]:
    """Let an oracle act until the goal holds or the limit is reached; return its commands."""
    commands: list[str] = []
    while not world.is_solved and len(commands) < limit:
        command = next_action(full_view(world) if name == "planner" else observed_view(world))
        assert command in world.options, f"{command!r} does not apply after {commands}"
        commands.append(command)
        act(world, command)
    return commands


def _success(env: HouseholdEnv, name: str, tasks: Sequence[str]) -> float:
    """Return the share of tasks that an oracle solves through the public actions."""
    solved = 0
    for task in tasks:
        _, info = env.reset(options={"task": task})
        is_done = False
        while not is_done:
            action = env.oracle(name)
            assert action in info["admissible_actions"]
            _, _, terminated, truncated, info = env.step(action)
            is_done = terminated or truncated
        solved += info["success"]
    return solved / len(tasks)


def test_the_planner_goes_straight() -> None:
    assert _finish(HouseState(tiny.house()), "planner") == [
        "go to desk 1", "take apple 1 from desk 1", "go to fridge 1", "open fridge 1", "move apple 1 to fridge 1",
    ]  # fmt: skip


def test_the_explorer_searches_likely_places_first_and_remembers_its_observations() -> None:
    assert _finish(HouseState(tiny.house()), "explorer") == [
        "go to fridge 1", "open fridge 1", "go to sinkbasin 1", "go to microwave 1", "open microwave 1", "go to desk 1",
        "take apple 1 from desk 1", "go to fridge 1", "move apple 1 to fridge 1",
    ]  # fmt: skip


def test_the_explorer_brings_two_to_one_drawer_and_looks_into_the_one_beside_it() -> None:
    assert _finish(HouseState(tiny.house("pick_two_obj_and_place")), "explorer") == [
        "go to desk 1", "go to drawer 1", "open drawer 1", "open drawer 2", "take book 2 from drawer 2",
        "move book 2 to drawer 1",
    ]  # fmt: skip


def test_the_explorer_finds_the_lamp_with_the_object_in_hand() -> None:
    world = HouseState(tiny.house("look_at_obj_in_light"))
    walk(world, "go to drawer 1", "open drawer 1", "take book 1 from drawer 1")
    assert _finish(world, "explorer") == ["go to desk 1", "use desklamp 1"]


def test_a_lamp_that_is_on_need_not_be_used_again() -> None:
    world = HouseState(tiny.house("look_at_obj_in_light"))
    walk(world, "go to desk 1", "use desklamp 1", "go to drawer 1", "open drawer 1", "open drawer 2")
    assert _finish(world, "planner") == ["take book 1 from drawer 1", "go to desk 1"]


@pytest.mark.parametrize("name", ["planner", "explorer"])
def test_the_wrong_thing_in_hand_is_put_where_it_fits(name: str) -> None:
    world = HouseState(tiny.house())
    walk(world, "go to fridge 1", "open fridge 1", "take pan 1 from fridge 1", "go to microwave 1")
    commands = _finish(world, name)
    assert world.is_solved
    assert any(command.startswith("move pan 1 to ") for command in commands)


@pytest.mark.parametrize("name", ["planner", "explorer"])
def test_an_object_treated_the_wrong_way_is_treated_again(name: str) -> None:
    world = HouseState(tiny.house("pick_heat_then_place_in_recep"))
    walk(world, "go to fridge 1", "open fridge 1", "take egg 1 from fridge 1", "go to microwave 1")
    walk(world, "heat egg 1 with microwave 1", "go to fridge 1", "cool egg 1 with fridge 1")
    assert _finish(world, name) == [
        "go to microwave 1", "heat egg 1 with microwave 1", "go to fridge 1", "move egg 1 to fridge 1",
    ]  # fmt: skip


def test_only_the_planner_uses_the_hidden_temperature_of_an_egg() -> None:
    planner, explorer = (HouseState(tiny.house("pick_cool_then_place_in_recep")) for _ in range(2))
    for world in (planner, explorer):
        walk(world, "go to fridge 1", "open fridge 1", "take egg 1 from fridge 1")
    assert _finish(planner, "planner") == ["go to microwave 1", "open microwave 1", "move egg 1 to microwave 1"]
    assert _finish(explorer, "explorer")[0] == "cool egg 1 with fridge 1"


@pytest.mark.parametrize("name", ["planner", "explorer"])
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_both_oracles_continue_from_any_state(name: str, task_type: str) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        world = HouseState(tiny.house(task_type))
        for _ in range(seed):
            act(world, rng.choice(list(world.options)))
        _finish(world, name)
        assert world.is_solved, (task_type, seed)


@pytest.mark.parametrize(("split", "size"), _GENERATED)
@pytest.mark.parametrize("name", ["planner", "explorer"])
def test_both_oracles_continue_from_any_state_of_generated_houses(name: str, split: str, size: str) -> None:
    env = HouseholdEnv(split=split, size=size)
    for seed, task in enumerate(env.tasks()[:60]):
        rng = random.Random(seed)
        world = HouseState(env.house(task))
        for _ in range(2 * seed):
            act(world, rng.choice(list(world.options)))
        _finish(world, name, limit=90)  # a door that was shut again costs a turn more
        assert world.is_solved, (task, seed)


@pytest.mark.parametrize(("split", "size"), _GENERATED)
def test_oracles_solve_a_sample_of_generated_houses(split: str, size: str) -> None:
    env = HouseholdEnv(split=split, size=size)
    assert _success(env, "planner", env.tasks()[:90]) == 1.0
    assert _success(env, "explorer", env.tasks()[:90]) >= env.meta.oracle_success


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_oracles_solve_the_validation_games(split: str) -> None:
    tiny.data_folder()
    env = HouseholdEnv(split=split)
    assert _success(env, "planner", env.tasks()) == 1.0
    assert _success(env, "explorer", env.tasks()) >= env.meta.oracle_success


@pytest.mark.slow
def test_oracles_solve_all_training_games_and_many_generated_houses() -> None:
    tiny.data_folder()
    environments = [HouseholdEnv(split="train"), *(HouseholdEnv(split=split, size=size) for split, size in _GENERATED)]
    for env in environments:
        assert _success(env, "planner", env.tasks()) == 1.0
        assert _success(env, "explorer", env.tasks()) >= env.meta.oracle_success


def test_a_view_holds_nothing_to_peek_into() -> None:
    view = observed_view(HouseState(tiny.house()))
    plain = (str, int, tuple, dict)
    for field in dataclasses.fields(BeliefState):
        value = getattr(view, field.name)
        assert isinstance(value, plain) or field.name == "goal", field.name


@pytest.mark.parametrize(("split", "size"), _GENERATED)
def test_the_explorer_does_not_peek(split: str, size: str) -> None:
    """Shuffle the contents of everything not yet seen: its next action stays the same."""
    env = HouseholdEnv(split=split, size=size)
    shuffles = 0
    for seed, task in enumerate(env.tasks()[:40]):
        rng = random.Random(seed)
        env.reset(options={"task": task})
        world = env.world
        for _ in range(12):
            command = env.oracle("explorer")
            unseen = [r for r in range(len(world.inside)) if not world.memory.explored >> r & 1]
            contents = [world.inside[r] for r in unseen]
            saved = world.save()
            for _ in range(3):
                rng.shuffle(contents)
                for r, mask in zip(unseen, contents, strict=True):
                    world.inside[r] = mask
                world.cool ^= rng.getrandbits(
                    len(world.house.object_names)
                )  # unless it chilled an object, it does not know
                assert env.oracle("explorer") == command
                shuffles += len(unseen) > 1
            world.load(saved)
            if rng.random() < 0.3:
                command = rng.choice(list(world.options))
            if env.step(command)[2]:
                break
    assert shuffles > 300
