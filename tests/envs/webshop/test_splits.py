"""Held-out goals, by every protocol, and rejected settings."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import get_args

import pytest

from cairn.core.errors import ConfigError
from cairn.envs.webshop.goals import Goals
from cairn.envs.webshop.shop import Shop, open_shop
from cairn.envs.webshop.splits import Protocol, Split, TaskIds, indices
from tests.envs.webshop import tiny

SEED = 233
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@pytest.fixture(scope="module")
def shop() -> Shop:
    return open_shop("generated", "synthetic", 0, SEED, 200, 0)


def products(shop: Shop, protocol: Protocol, split: Split, seed: int = SEED) -> set[int]:
    return {int(shop.goals.products[index]) for index in indices(shop, protocol, split, seed)}


def test_by_product_divides_all_goals_and_shares_no_product(shop: Shop) -> None:
    parts = {split: list(indices(shop, "by-product", split, SEED)) for split in SPLITS}
    assert sorted(itertools.chain(*parts.values())) == list(range(len(shop.goals)))
    train, valid, test = (products(shop, "by-product", split) for split in SPLITS)
    assert len(train | valid | test) == len(train) + len(valid) + len(test) == 200
    assert 0.7 < len(train) / 200 < 0.9
    assert min(len(valid), len(test)) > 10
    assert all(part == sorted(part) for part in parts.values())  # in the shop's order


def test_a_product_stays_on_its_side_in_a_larger_shop(shop: Shop, tmp_path: Path) -> None:
    """Goals held out in a small shop are held out in the large one, for any order of the data."""
    catalogue = tiny.catalogue(tmp_path, *(shop.catalogue[number] for number in reversed(range(50, 200))))
    other = Shop(catalogue, Goals(catalogue))
    for split in SPLITS:
        here = {shop.catalogue.asin(number) for number in products(shop, "by-product", split) if number >= 50}
        assert {catalogue.asin(number) for number in products(other, "by-product", split)} == here


def test_the_published_ranges(shop: Shop) -> None:
    count = len(shop.goals)
    assert count > 1600
    assert list(indices(shop, "original", "test", SEED)) == list(range(500))
    assert list(indices(shop, "original", "train", SEED)) == list(range(500, count))
    assert list(indices(shop, "baseline", "test", SEED)) == list(range(500))
    assert list(indices(shop, "baseline", "valid", SEED)) == list(range(500, 1500))
    assert list(indices(shop, "baseline", "train", SEED)) == list(range(1500, count))
    assert list(indices(shop, "gigpo", "test", 7)) == list(range(500))
    assert list(indices(shop, "gigpo", "train", 7)) == list(range(500, count))


def test_ranges_end_with_the_goals(tmp_path: Path) -> None:
    catalogue = tiny.catalogue(tmp_path)
    shop = Shop(catalogue, Goals(catalogue))
    assert list(indices(shop, "original", "test", SEED)) == list(range(13))
    assert list(indices(shop, "original", "train", SEED)) == []
    assert list(indices(shop, "baseline", "valid", SEED)) == []


@pytest.mark.parametrize("protocol", get_args(Protocol))
def test_every_protocol_can_list_all_goals(shop: Shop, protocol: Protocol) -> None:
    assert list(indices(shop, protocol, "all", 5)) == list(range(len(shop.goals)))


@pytest.mark.parametrize("protocol", ["by-product", "original", "baseline"])
def test_another_order_is_refused_but_by_gigpo(shop: Shop, protocol: Protocol) -> None:
    with pytest.raises(ConfigError, match="shuffle_seed=5 is splits='gigpo'"):
        indices(shop, protocol, "test", 5)
    indices(shop, "gigpo", "test", 5)


@pytest.mark.parametrize("protocol", ["original", "gigpo"])
def test_protocols_without_validation_goals_raise_an_error(shop: Shop, protocol: Protocol) -> None:
    with pytest.raises(ConfigError, match="has train and test"):
        indices(shop, protocol, "valid", SEED)


def test_ids_are_a_sequence_of_texts(shop: Shop) -> None:
    places = indices(shop, "by-product", "test", SEED)
    ids = TaskIds("goal/", places)
    assert list(ids) == [f"goal/{place}" for place in places]
    assert ids[-1] == f"goal/{places[-1]}"
    assert list(ids[1:3]) == [ids[1], ids[2]]
    assert ids[0] in ids
    assert "goal/x" not in ids
    with pytest.raises(IndexError):
        ids[len(ids)]


def test_the_originals_held_out_goals_share_products_with_its_training_goals() -> None:
    """And those that one worker of gigpo's holds out, another trains on; by-product shares none."""
    tiny.data_folder()
    shop = open_shop("webshop-1000", "synthetic", 0, SEED, 0, 0)
    test, train = (products(shop, "original", split) for split in ("test", "train"))
    assert (len(test), len(test & train)) == (146, 127)
    assert not products(shop, "by-product", "test") & products(shop, "by-product", "train")
    held_out = open_shop("webshop-1000", "synthetic", 0, 1000, 0, 0).goals[:500]
    trained_on = {goal.instruction for goal in open_shop("webshop-1000", "synthetic", 0, 0, 0, 0).goals[500:]}
    assert sum(goal.instruction in trained_on for goal in held_out) == 457
