"""Game files: the parsed content of a sound one, and the error for each kind of damage."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.errors import CairnError
from cairn.envs.household.facts import number_names
from cairn.envs.household.pddl import MAX_TEXT, parse_game
from cairn.envs.household.rules import act
from cairn.envs.household.world import HouseState
from tests.envs.household import tiny


def _parse(text: str) -> None:
    parse_game(text, task=tiny.TASK, game="train/damaged")


def test_the_first_id_of_a_kind_gets_the_highest_number() -> None:
    assert number_names({"pen_bar_b", "pen_bar_a", "pen_bar_c", "sink_bar_x_bar_sinkbasin", "sink_bar_x"}) == {
        "pen_bar_a": "pen 3", "pen_bar_b": "pen 2", "pen_bar_c": "pen 1",
        "sink_bar_x": "sink 1", "sink_bar_x_bar_sinkbasin": "sinkbasin 1",
    }  # fmt: skip


def test_objects_without_a_type_exist_but_fit_nowhere() -> None:
    house = tiny.house(extra="(inReceptacle Egg_bar_2_bar_EggCracked Desk_bar_1) (pickupable Egg_bar_2_bar_EggCracked)")
    o = house.object_names.index("egg 1")
    assert house.object_kinds[o] == ""
    assert not any(fits >> o & 1 for fits in house.fits)


def test_case_and_white_space_do_not_matter() -> None:
    text = tiny.problem()
    plain = parse_game(text, task=tiny.TASK, game="tiny")
    assert parse_game("\t".join(text.upper().split(" ")), task=tiny.TASK, game="tiny") == plain


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (("(:init", "(:unit"), r"expected \(:init ...\)"),
        (("(:goal", "(:gaol"), r"expected \(:init ...\)"),
        (("(atLocation agent1 loc_start)", ""), "one .atLocation agent LOCATION., got 0"),
        (("(atLocation agent1 loc_start)", "(atLocation agent1)"), r"cannot read the fact '\(atlocation agent1\)"),
        (("(openable Fridge_bar_1)", "(swallows Fridge_bar_1)"), "cannot read the fact '.swallows fridge_bar_1.'"),
        (("(openable Fridge_bar_1)", "()"), "empty fact"),
        (("(openable Fridge_bar_1)", "(openable Fridge_bar_1))) extra"), "cannot read the fact"),
        (("(receptacleAtLocation Fridge_bar_1 loc_a)", ""), "receptacle 'fridge_bar_1' has no location"),
        (("(receptacleType Fridge_bar_1 FridgeType)", ""), "receptacle 'fridge_bar_1' has no type"),
        (("(receptacleType Fridge_bar_1 FridgeType)",
          "(receptacleType Fridge_bar_1 AType)(receptacleType Fridge_bar_1 BType)"),
         "two different facts receptacletype of 'fridge_bar_1'"),
        (("(pickupable Egg_bar_1)", "(pickupable Fridge_bar_1)"), "'fridge_bar_1' is both an object and a receptacle"),
        (("(exists (?r", "(forall (?r"), "its goal is none of the six kinds"),
    ],
)  # fmt: skip
def test_damage_is_named_with_the_game(damage: tuple[str, str], complaint: str) -> None:
    text = tiny.problem()
    assert damage[0] in text
    with pytest.raises(CairnError, match=f"Game 'train/damaged'.*{complaint}"):
        _parse(text.replace(*damage, 1))


def test_sizes_are_bounded() -> None:
    with pytest.raises(CairnError, match="at most 1048576 characters"):
        _parse("x" * (MAX_TEXT + 1))
    many = "".join(f"(objectType thing_bar_{i} PenType)\n" for i in range(1100))
    with pytest.raises(CairnError, match="at most 512 receptacles and 1024 objects, got 6 and 11"):
        _parse(tiny.problem(extra=many))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 8000), st.integers(0, 60), st.text(max_size=8))
def test_any_other_damage_is_a_cairn_error_or_harmless(at: int, length: int, filling: str) -> None:
    text = tiny.problem()
    at %= len(text)
    with suppress(CairnError):
        world = HouseState(parse_game(text[:at] + filling + text[at + length :], task=tiny.TASK, game="train/damaged"))
        for command in world.options:  # accepted games can be played
            act(world, command)
        assert isinstance(world.is_solved, bool)
