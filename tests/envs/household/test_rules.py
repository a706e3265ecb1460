"""Every row of the table of actions, worked out by hand on the tiny house."""

from __future__ import annotations

import pytest

from cairn.envs.household.rules import HELP, NOTHING_HAPPENS, act
from cairn.envs.household.world import HouseState
from tests.envs.household import tiny
from tests.envs.household.tiny import walk


@pytest.fixture
def world() -> HouseState:
    return HouseState(tiny.house())


def test_the_intro_lists_receptacles_in_raw_id_order_with_falling_numbers(world: HouseState) -> None:
    assert world.house.intro() == (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
        "a desk 1, a drawer 2, a drawer 1, a fridge 1, a microwave 1, and a sinkbasin 1.\n\nYour task is to: do it."
    )


def test_at_the_start_one_can_go_everywhere_and_little_else(world: HouseState) -> None:
    assert list(world.options) == [
        "go to desk 1", "go to drawer 1", "go to drawer 2", "go to fridge 1", "go to microwave 1", "go to sinkbasin 1",
        "help", "inventory", "look",
    ]  # fmt: skip


def test_go_shows_a_surface_and_offers_no_travel_to_where_one_is(world: HouseState) -> None:
    assert (
        walk(world, "go to desk 1")
        == "You arrive at desk 1. On the desk 1, you see a apple 1, a desklamp 1, and a knife 1."
    )
    assert list(world.options) == [
        "examine desk 1",
        "go to drawer 1", "go to drawer 2", "go to fridge 1", "go to microwave 1", "go to sinkbasin 1",
        "help", "inventory", "look", "take apple 1 from desk 1", "take knife 1 from desk 1", "use desklamp 1",
    ]  # fmt: skip


def test_go_to_one_of_two_receptacles_at_a_spot_offers_both(world: HouseState) -> None:
    assert walk(world, "go to drawer 1") == "You arrive at drawer 1. The drawer 1 is closed."
    assert not {"go to drawer 1", "go to drawer 2"} & set(world.options)
    assert {"open drawer 1", "open drawer 2", "examine drawer 1", "examine drawer 2"} <= set(world.options)


def test_open_shows_and_close_hides(world: HouseState) -> None:
    walk(world, "go to fridge 1")
    assert walk(world, "open fridge 1") == (
        "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1, and a pan 1."
    )
    assert "open fridge 1" not in world.options
    assert walk(world, "close fridge 1") == "You close the fridge 1."
    assert "close fridge 1" not in world.options
    assert walk(world, "examine fridge 1") == "The fridge 1 is closed."
    assert "take egg 1 from fridge 1" not in world.options


def test_take_needs_empty_hands_and_move_a_kind_that_fits(world: HouseState) -> None:
    assert walk(world, "go to desk 1", "take apple 1 from desk 1") == "You pick up the apple 1 from the desk 1."
    assert "take knife 1 from desk 1" not in world.options
    walk(world, "go to sinkbasin 1")
    assert "move apple 1 to sinkbasin 1" not in world.options  # canContain does not say so
    walk(world, "go to microwave 1")
    assert "move apple 1 to microwave 1" not in world.options  # closed
    assert walk(world, "open microwave 1", "move apple 1 to microwave 1") == "You move the apple 1 to the microwave 1."
    assert walk(world, "examine microwave 1") == "The microwave 1 is open. In it, you see a apple 1."
    assert walk(world, "inventory") == "You are not carrying anything."


def test_clean_needs_a_sink(world: HouseState) -> None:
    walk(world, "go to desk 1", "take apple 1 from desk 1")
    assert not [c for c in world.options if c.startswith("clean")]
    assert walk(world, "go to sinkbasin 1", "clean apple 1 with sinkbasin 1") == (
        "You clean the apple 1 using the sinkbasin 1."
    )
    assert walk(world, "examine apple 1") == "This is a clean apple 1."


def test_heat_and_cool_work_through_closed_doors_and_undo_each_other(world: HouseState) -> None:
    walk(world, "go to desk 1", "take apple 1 from desk 1", "go to microwave 1")
    assert walk(world, "heat apple 1 with microwave 1") == "You heat the apple 1 using the microwave 1."
    assert list(world.options) == sorted(world.options)  # "heat" sorts between "go to" and "help"
    assert walk(world, "examine apple 1") == "This is a hot apple 1."
    assert walk(world, "go to fridge 1", "cool apple 1 with fridge 1") == "You cool the apple 1 using the fridge 1."
    assert walk(world, "examine apple 1") == "This is a cold apple 1."
    walk(world, "go to sinkbasin 1", "clean apple 1 with sinkbasin 1")
    assert walk(world, "examine apple 1") == "This is a cool and clean apple 1."
    walk(world, "go to microwave 1", "heat apple 1 with microwave 1")
    assert walk(world, "examine apple 1") == "This is a hot and clean apple 1."


def test_treatments_are_offered_only_for_suitable_objects(world: HouseState) -> None:
    walk(world, "go to fridge 1", "open fridge 1", "take pan 1 from fridge 1", "cool pan 1 with fridge 1")
    walk(world, "go to microwave 1")
    assert "heat pan 1 with microwave 1" not in world.options
    walk(world, "go to sinkbasin 1")
    assert "clean pan 1 with sinkbasin 1" not in world.options


def test_use_always_turns_a_lamp_on(world: HouseState) -> None:
    walk(world, "go to desk 1")
    assert walk(world, "use desklamp 1") == "You turn on the desklamp 1."
    assert walk(world, "use desklamp 1") == "You turn on the desklamp 1."


def test_slice_needs_a_knife_in_hand_and_goes_through_closed_doors(world: HouseState) -> None:
    walk(world, "go to desk 1")
    assert "slice apple 1 with knife 1" not in world.options
    assert (
        walk(world, "take knife 1 from desk 1", "slice apple 1 with knife 1")
        == "You sliced the apple 1 with the knife 1."
    )
    walk(world, "go to fridge 1")
    assert "slice egg 1 with knife 1" in world.options
    walk(world, "go to desk 1", "move knife 1 to desk 1", "take apple 1 from desk 1")
    assert walk(world, "examine apple 1") == "This is a sliced apple 1."
    walk(world, "go to microwave 1", "heat apple 1 with microwave 1")
    assert walk(world, "examine apple 1") == "This is a hot sliced apple 1."
    walk(world, "go to sinkbasin 1", "clean apple 1 with sinkbasin 1")
    assert walk(world, "examine apple 1") == "This is a hot and clean sliced apple 1."
    walk(world, "go to fridge 1", "cool apple 1 with fridge 1")
    assert walk(world, "examine apple 1") == "This is a cool and clean sliced apple 1."


def test_only_the_held_object_can_be_examined(world: HouseState) -> None:
    walk(world, "go to desk 1")
    assert "examine knife 1" not in world.options
    assert walk(world, "take knife 1 from desk 1", "examine knife 1") == "There's nothing special about knife 1."


def test_examining_a_vessel_shows_only_its_content(world: HouseState) -> None:
    walk(world, "go to sinkbasin 1", "take mug 1 from sinkbasin 1", "clean mug 1 with sinkbasin 1")
    assert walk(world, "examine mug 1") == "This is a normal mug 1. In it, you see a spoon 1."


def test_inventory_names_the_held_object(world: HouseState) -> None:
    walk(world, "go to desk 1", "take knife 1 from desk 1")
    assert walk(world, "inventory") == "You are carrying: a knife 1."


def test_look_before_and_after_going_somewhere(world: HouseState) -> None:
    assert walk(world, "look") == "You are in the middle of a room. Looking quickly around you, you see nothing."
    assert walk(world, "go to desk 1", "look") == "You are facing the desk 1. Next to it, you see nothing."


def test_look_lists_objects_that_were_moved_between_receptacles_of_the_same_spot(world: HouseState) -> None:
    walk(world, "go to drawer 1", "open drawer 1", "open drawer 2", "take book 1 from drawer 1")
    assert walk(world, "look") == "You are facing the drawer 2, and drawer 1. Next to it, you see nothing."
    walk(world, "move book 1 to drawer 2")
    assert walk(world, "look") == "You are facing the drawer 2, and drawer 1. Next to it, you see a book 1."
    walk(world, "take book 1 from drawer 2", "move book 1 to drawer 1")
    assert walk(world, "look") == "You are facing the drawer 2, and drawer 1. Next to it, you see a book 1."
    walk(world, "take book 1 from drawer 1", "go to desk 1", "move book 1 to desk 1", "go to drawer 1")
    assert walk(world, "look") == "You are facing the drawer 2, and drawer 1. Next to it, you see nothing."


def test_an_object_in_two_receptacles_leaves_the_one_that_it_is_taken_from(world: HouseState) -> None:
    walk(world, "go to sinkbasin 1", "take pan 1 from sinkbasin 1")
    assert walk(world, "go to fridge 1", "open fridge 1") == (
        "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1, and a pan 1."
    )


def test_help_is_the_table_of_commands(world: HouseState) -> None:
    assert walk(world, "help") == HELP
    assert HELP.startswith("Available commands:\n  look: ")
    assert HELP.endswith("using a sharp object\n")


@pytest.mark.parametrize(
    "command",
    ["", "take apple 1 from desk 1", "GO TO DESK 1", "go to desk 2", " look", "look\n", "\x00", "\ud800", "look" * 999],
)
def test_anything_else_does_nothing(world: HouseState, command: str) -> None:
    before = world.key()
    assert act(world, command) == NOTHING_HAPPENS
    assert world.key() == before
