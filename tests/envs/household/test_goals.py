"""The six goals: when each holds, worked out by hand on the tiny house."""

from __future__ import annotations

import pytest

from cairn.envs.household.goals import SENTENCES, TASK_TYPES, Goal
from cairn.envs.household.pddl import parse_game
from cairn.envs.household.world import HouseState
from tests.envs.household import tiny
from tests.envs.household.tiny import walk

# For each task type: steps that do not solve it, and one more that does.
_SOLUTIONS = {
    "pick_and_place_simple": [
        "go to desk 1", "take apple 1 from desk 1", "go to fridge 1", "open fridge 1", "move apple 1 to fridge 1",
    ],
    "pick_clean_then_place_in_recep": [
        "go to desk 1", "take apple 1 from desk 1", "move apple 1 to desk 1", "take apple 1 from desk 1",
        "go to sinkbasin 1", "clean apple 1 with sinkbasin 1", "go to desk 1", "move apple 1 to desk 1",
    ],
    "pick_heat_then_place_in_recep": [
        "go to fridge 1", "open fridge 1", "take egg 1 from fridge 1", "move egg 1 to fridge 1",
        "take egg 1 from fridge 1", "go to microwave 1", "heat egg 1 with microwave 1", "go to fridge 1",
        "move egg 1 to fridge 1",
    ],
    "pick_cool_then_place_in_recep": [
        "go to fridge 1", "open fridge 1", "take egg 1 from fridge 1", "go to microwave 1", "open microwave 1",
        "move egg 1 to microwave 1",
    ],
    "pick_two_obj_and_place": [
        "go to drawer 1", "open drawer 1", "open drawer 2", "take book 1 from drawer 1", "move book 1 to drawer 2",
    ],
    "look_at_obj_in_light": [
        "go to drawer 1", "open drawer 1", "take book 1 from drawer 1", "go to desk 1", "use desklamp 1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_the_goal_holds_after_the_last_step_and_not_before(task_type: str) -> None:
    world = HouseState(tiny.house(task_type))
    assert world.house.goal.task_type == task_type
    for command in _SOLUTIONS[task_type]:
        assert not world.is_solved, command
        walk(world, command)
    assert world.is_solved


def test_the_lamp_may_be_used_before_the_object_is_taken() -> None:
    world = HouseState(tiny.house("look_at_obj_in_light"))
    walk(world, "go to desk 1", "use desklamp 1", "go to drawer 1", "open drawer 1", "take book 1 from drawer 1")
    assert not world.is_solved  # the lamp is elsewhere
    walk(world, "go to desk 1")
    assert world.is_solved


def test_two_objects_in_two_receptacles_of_the_kind_do_not_count() -> None:
    assert not HouseState(tiny.house("pick_two_obj_and_place")).is_solved  # one book in each drawer


def test_an_object_still_in_its_other_receptacle_counts_while_held() -> None:
    goal = tiny.GOALS["pick_cool_then_place_in_recep"]
    text = tiny.problem("pick_cool_then_place_in_recep").replace(goal, goal.replace("EggType", "PanType"))
    text = text.replace("(receptacleType ?r MicrowaveType)", "(receptacleType ?r SinkBasinType)")
    world = HouseState(parse_game(text, task=tiny.TASK, game="tiny"))
    walk(world, "go to fridge 1", "open fridge 1", "take pan 1 from fridge 1")
    assert not world.is_solved
    walk(world, "cool pan 1 with fridge 1")  # the pan is in the hand and, says the game, in the sink
    assert world.is_solved


def test_sentences_name_the_kinds() -> None:
    goal = Goal(task_type="look_at_obj_in_light", object_kind="book", place_kind="desklamp")
    assert goal.sentence(0) == "Your task is to: look at book under the desklamp."
    assert goal.sentence(1) == "Your task is to: examine the book with the desklamp."
    assert set(SENTENCES) == set(TASK_TYPES)
