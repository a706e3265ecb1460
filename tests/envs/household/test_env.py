"""The environment as a whole: episodes, snapshots, task types, settings and hostile actions."""

from __future__ import annotations

import random
from typing import Any

import pytest

import cairn
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.envs.household.env import ENV, HouseholdEnv
from cairn.envs.household.goals import TASK_TYPES
from cairn.envs.household.rules import NOTHING_HAPPENS


def test_it_is_found_by_name() -> None:
    assert isinstance(cairn.make("household"), ENV)
    assert cairn.make("household").config == ENV.Config()


def test_the_golden_episode_of_version_1() -> None:
    """From `HouseholdEnv().reset(options={"task": "gen-train/000000"})` and its explorer; changes with the version."""
    env = HouseholdEnv()
    text, info = env.reset(options={"task": "gen-train/000000"})
    transcript = [text]
    terminated = False
    reward = 0.0
    while not terminated:
        action = env.oracle("explorer")
        text, reward, terminated, truncated, info = env.step(action)
        assert not truncated
        transcript += [f"> {action}", text]
    assert (reward, info["success"], info["score"]) == (1.0, True, 1.0)
    assert ENV.meta.version == 1
    assert transcript == GOLDEN


def test_snapshots_bring_back_state_knowledge_and_turns() -> None:
    env, other = HouseholdEnv(), HouseholdEnv()
    rng = random.Random(0)
    for task in env.tasks()[:20]:
        _, info = env.reset(options={"task": task})
        for _ in range(rng.randrange(6)):
            info = env.step(rng.choice(info["admissible_actions"]))[4]
        snapshot = env.snapshot()
        played = _play(env)
        env.restore(snapshot)
        assert _play(env) == played
        other.restore(snapshot)  # another instance, which has not played this task
        assert _play(other) == played


def _play(env: HouseholdEnv) -> list[tuple[Any, ...]]:
    """Let the explorer, whose actions depend on its observations, finish the episode."""
    steps = []
    is_done = env._needs_reset
    while not is_done:
        step = env.step(env.oracle("explorer"))
        steps.append(step)
        is_done = step[2] or step[3]
    return steps


def test_a_saved_state_does_not_change_with_the_world() -> None:
    env = HouseholdEnv()
    _, info = env.reset(options={"task": "gen-train/000001"})
    saved, copy = env.save_state(), repr(env.save_state())
    for _ in range(20):
        _, _, terminated, _, info = env.step(random.Random(1).choice(info["admissible_actions"]))
        if terminated:
            break
    assert repr(saved) == copy


def test_episodes_end_at_the_turn_limit_without_success() -> None:
    env = HouseholdEnv()
    env.reset(options={"task": "gen-train/000002"})
    for turn in range(1, 51):
        text, reward, terminated, truncated, info = env.step("nonsense")
        assert (text, reward, terminated, truncated) == (NOTHING_HAPPENS, 0.0, False, turn == 50)
    assert (info["success"], info["score"]) == (False, 0.0)


@pytest.mark.parametrize(
    "action", ["\x00", "\ud800 look", "go to " * 200_000, "\x1b[2J", "", "look\n", "\N{ROBOT FACE}"]
)
def test_hostile_actions_do_nothing(action: str) -> None:
    env = HouseholdEnv()
    _, before = env.reset(options={"task": "gen-train/000000"})
    text, reward, terminated, _, info = env.step(action)
    assert (text, reward, terminated) == (NOTHING_HAPPENS, 0.0, False)
    assert info["anchor"] == before["anchor"]
    assert info["admissible_actions"] == before["admissible_actions"]


def test_the_environment_gives_task_types_and_the_episode_does_not() -> None:
    env = HouseholdEnv(num_tasks=12)
    assert {env.task_type(task) for task in env.tasks()} == set(TASK_TYPES)
    _, info = env.reset(options={"task": env.tasks()[3]})
    assert not any(kind in repr(info) for kind in TASK_TYPES)
    with pytest.raises(UnknownNameError):
        env.task_type("gen-train/x")


def test_difficulty_is_the_number_of_changes_to_objects() -> None:
    env = HouseholdEnv(num_tasks=12)
    found = {env.task_type(task): env.difficulty(task) for task in env.tasks()}
    assert found == {
        "pick_and_place_simple": "2",  # take, put
        "look_at_obj_in_light": "2",  # take, look
        "pick_clean_then_place_in_recep": "3",  # take, clean, put
        "pick_heat_then_place_in_recep": "3",
        "pick_cool_then_place_in_recep": "3",
        "pick_two_obj_and_place": "4",  # take and put two
    }


@pytest.mark.parametrize(
    "config", [{"split": "test"}, {"task_types": ()}, {"size": "huge"}, {"num_tasks": 0}, {"sise": 1}]
)
def test_settings_that_make_no_sense_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="environment 'household'"):
        HouseholdEnv(**config)


def test_admissible_actions_are_sorted_and_each_does_something() -> None:
    env = HouseholdEnv(size="full")
    rng = random.Random(5)
    _, info = env.reset(options={"task": "gen-train/000004"})
    for _ in range(30):
        actions = info["admissible_actions"]
        assert list(actions) == sorted(set(actions))
        text, _, terminated, _, info = env.step(rng.choice(actions))
        assert text != NOTHING_HAPPENS
        if terminated:
            break


def test_acting_before_reset_is_a_bug_of_the_caller() -> None:
    with pytest.raises(RuntimeError, match="call reset"):
        _ = HouseholdEnv().world


GOLDEN = [
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
    "a coffeetable 1, a desk 1, a shelf 2, a shelf 1, a sidetable 1, and a sofa 1.\n\n"
    "Your task is to: put a cellphone in shelf.",
    "> go to desk 1",
    "You arrive at desk 1. On the desk 1, you see a book 1, a pen 1, and a vase 1.",
    "> go to sidetable 1",
    "You arrive at sidetable 1. On the sidetable 1, you see a cellphone 1.",
    "> take cellphone 1 from sidetable 1",
    "You pick up the cellphone 1 from the sidetable 1.",
    "> go to shelf 1",
    "You arrive at shelf 1. On the shelf 1, you see nothing.",
    "> move cellphone 1 to shelf 1",
    "You move the cellphone 1 to the shelf 1.",
]
