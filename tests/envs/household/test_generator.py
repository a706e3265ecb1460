"""Generated houses: the same in any process, in disjoint splits, solvable, and as described."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import get_args

import pytest

from cairn.core.errors import UnknownNameError
from cairn.envs.household import generator, priors
from cairn.envs.household.env import HouseholdEnv
from cairn.envs.household.generator import GENERATED_SPLITS, RoomLayout, Size, generate
from cairn.envs.household.goals import TASK_TYPES
from cairn.envs.household.house import House, members
from cairn.envs.household.world import HouseState

SIZES: tuple[Size, ...] = get_args(Size)
_DIGEST = """
import hashlib
from cairn.envs.household.generator import GENERATED_SPLITS, generate
from cairn.envs.household.goals import TASK_TYPES
houses = [generate(split, i, size=size, task_types=TASK_TYPES)
          for split in GENERATED_SPLITS for size in ("tiny", "small", "full") for i in (0, 1, 2, 3, 4, 5, 999_999)]
text = repr([(h.intro(), h.object_names, h.inside, h.fits, h.receptacle_spots, h.goal) for h in houses])
print(hashlib.sha256(text.encode()).hexdigest())
"""


def _fingerprint(house: House) -> int:
    """Return the layout's fingerprint, from the finished house alone."""
    objects = [(house.object_kinds[o], r) for r, mask in enumerate(house.inside) for o in members(mask)]
    return RoomLayout(house.receptacle_kinds, house.receptacle_spots, tuple(objects)).fingerprint()


def test_houses_are_the_same_in_every_process_and_under_every_hash_seed() -> None:
    digests = set()
    for hash_seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run(
            [sys.executable, "-c", _DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_no_house_is_in_two_splits() -> None:
    houses = {
        split: {_fingerprint(generate(split, i, size=size, task_types=TASK_TYPES)) for size in SIZES for i in range(60)}
        for split in GENERATED_SPLITS
    }
    assert not houses["gen-train"] & houses["gen-valid"]
    assert not houses["gen-train"] & houses["gen-test"]
    assert not houses["gen-valid"] & houses["gen-test"]


@pytest.mark.parametrize("split", GENERATED_SPLITS)
def test_a_layout_can_only_be_in_the_split_that_its_fingerprint_names(split: str) -> None:
    for i in range(100):
        house = generate(split, i, size="small", task_types=TASK_TYPES)
        assert generator._SPLIT_OF[_fingerprint(house) % 4] == split


def test_a_fingerprint_ignores_order_and_nothing_else() -> None:
    layout = RoomLayout(("bed", "desk", "desk"), (0, 1, 1), (("pen", 0), ("book", 1)))
    same = RoomLayout(("desk", "desk", "bed"), (0, 0, 1), (("book", 1), ("pen", 2)))
    assert same.fingerprint() == layout.fingerprint()
    for other in [
        RoomLayout(("bed", "desk", "desk"), (0, 1, 2), (("pen", 0), ("book", 1))),  # not side by side
        RoomLayout(("bed", "desk", "desk"), (0, 1, 1), (("pen", 0), ("book", 0))),  # the book is elsewhere
        RoomLayout(("bed", "desk", "desk"), (0, 1, 1), (("pen", 0), ("cd", 1))),
        RoomLayout(("bed", "desk", "sofa"), (0, 1, 1), (("pen", 0), ("book", 1))),
    ]:
        assert other.fingerprint() != layout.fingerprint()


@pytest.mark.parametrize("size", SIZES)
def test_houses_have_the_sizes_and_the_sense_that_they_promise(size: Size) -> None:
    low, high = generator._RECEPTACLES[size]
    for i in range(120):
        house = generate("gen-train", i, size=size, task_types=TASK_TYPES)
        assert low <= len(house.receptacle_names) <= high
        assert len(house.object_names) <= generator._OBJECTS[size][1]
        assert house.goal.task_type == TASK_TYPES[i % 6]
        assert not HouseState(house).is_solved
        for r, mask in enumerate(house.inside):
            assert mask & house.fits[r] == mask  # each object there may be put there
            assert bool(house.openable >> r & 1) == (house.receptacle_kinds[r] in priors.DOORED)
        assert house.irregular_mask == 0


def test_tiny_houses_have_few_kinds_of_object_and_all_of_them() -> None:
    allowed = {kind for few in priors.FEW_OBJECTS.values() for kind in few}
    houses = [generate("gen-train", i, size="tiny", task_types=TASK_TYPES) for i in range(300)]
    wanted = {house.goal.object_kind for house in houses}
    assert wanted == allowed
    assert {kind for house in houses for kind in house.object_kinds} == allowed | {"desklamp"}


def test_most_rooms_have_receptacles_side_by_side() -> None:
    houses = [generate("gen-train", i, size="small", task_types=TASK_TYPES) for i in range(100)]
    assert 30 < sum(any(len(spot) > 1 for spot in house.spots) for house in houses) < 95


def test_task_types_can_be_chosen() -> None:
    env = HouseholdEnv(task_types=("look_at_obj_in_light", "pick_two_obj_and_place"), num_tasks=4)
    assert [env.task_type(task) for task in env.tasks()] == ["look_at_obj_in_light", "pick_two_obj_and_place"] * 2


def test_any_index_is_playable_and_nothing_else() -> None:
    env = HouseholdEnv(num_tasks=3)
    assert list(env.tasks()) == ["gen-train/000000", "gen-train/000001", "gen-train/000002"]
    env.reset(options={"task": "gen-train/999999"})
    for bad in ["gen-train/1000000", "gen-train/1", "gen-valid/000001", "gen-train/00000\u0661", "gen-train/-00001"]:
        with pytest.raises(UnknownNameError):
            env.reset(options={"task": bad})


def test_every_kind_in_the_tables_is_known_to_the_others() -> None:
    receptacles = {kind for most in priors.MOST.values() for kind in most}
    assert receptacles <= set(priors.DEFAULT_ORDER)
    assert set(priors.DOORED) <= receptacles
    for room in priors.ROOMS:
        assert set(priors.ESSENTIAL[room]) <= set(priors.MOST[room])
        assert set(priors.FEW_OBJECTS[room]) < set(priors.OBJECTS[room])
        for kind in priors.OBJECTS[room]:
            places = priors.SEARCH_ORDER[kind]
            assert len(places) == len(set(places))
            assert sum(place in priors.MOST[room] for place in places) >= 2, kind
