"""Catalogues: built once, opened again, and never half."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.envs.webshop import catalogue as module
from cairn.envs.webshop.catalogue import Catalogue, make_catalogue, open_catalogue
from cairn.envs.webshop.products import Product
from tests.envs.webshop import tiny


@pytest.fixture
def tiny_shop(tmp_path: Path) -> Catalogue:
    return tiny.catalogue(tmp_path)


def test_products_are_found_by_number_and_by_asin(tiny_shop: Catalogue) -> None:
    assert len(tiny_shop) == 6
    for number, product in enumerate(tiny.PRODUCTS):
        assert tiny_shop[number] == product
        assert tiny_shop.asin(number) == product.asin
        assert tiny_shop.find(product.asin) == number


def test_products_are_found_in_any_order_of_the_data(tmp_path: Path) -> None:
    shop = tiny.catalogue(tmp_path, tiny.RUG, tiny.MUG2, tiny.LAMP, tiny.RUG2, tiny.MUG)
    assert [shop.find(shop.asin(number)) for number in range(5)] == list(range(5))


@pytest.mark.parametrize(
    "asin", ["", "lamp000001", "LAMP00001", "LAMP0000010", "AAAA", "ZZZZ", "LAMP\u00e9", "\ud800", "\0"]
)
def test_an_asin_that_is_not_there_is_not_found(tiny_shop: Catalogue, asin: str) -> None:
    assert tiny_shop.find(asin) is None


def test_columns_are_those_of_the_products(tiny_shop: Catalogue) -> None:
    assert tiny_shop.prices[:, 0].tolist() == [9.98, 25.0, 985.0, 100.0, 40.0, 7.5]
    assert tiny_shop.prices[0, 1] == 12.98
    assert np.isnan(tiny_shop.prices[1:, 1]).all()
    assert tiny_shop.num_goals.tolist() == [6, 2, 1, -1, 4, 0]  # -1: no instruction; 0: an option without values


def test_goal_weights_are_those_worked_out_by_hand(tiny_shop: Catalogue) -> None:
    """Goals that ask for an attribute: bright 6 + 2, dimmable 2, dishwasher safe 1, soft 4. Without goals: 0."""
    assert tiny_shop.goal_weights.tolist() == [1 / 8, (1 / 2 + 1 / 8) / 2, 1.0, 0.0, 1 / 4, 0.0]


def test_products_of_a_category_or_query_are_in_the_order_of_the_data(tiny_shop: Catalogue) -> None:
    assert tiny_shop.of_group("category", "garden") == (0, 1, 4, 5)
    assert tiny_shop.of_group("category", "grocery") == (2, 3)
    assert tiny_shop.of_group("query", "mugs") == (2, 3)
    assert tiny_shop.of_group("query", "mug") == tiny_shop.of_group("category", "") == ()


def test_it_is_searched_for_50_products_at_most(tmp_path: Path, tiny_shop: Catalogue) -> None:
    assert tiny_shop.search("lamps for a desk") == (0, 1)
    assert tiny_shop.search("three") == (4,)  # an option's value
    assert tiny_shop.search("cord") == ()  # in the second bullet, which is not indexed
    many = tiny.catalogue(tmp_path, *(tiny.product(asin=f"N{number:05d}", name="lamp") for number in range(70)))
    assert many.search("lamp") == tuple(range(50))


def test_later_products_of_an_asin_are_dropped(tmp_path: Path) -> None:
    shop = tiny.catalogue(tmp_path, tiny.LAMP, tiny.MUG, tiny.product(asin=tiny.LAMP.asin, name="Other"), tiny.RUG)
    assert [product.name for product in (shop[0], shop[1], shop[2])] == ["Acme Red Desk Lamp", "Mug", "Soft Rug"]
    assert len(shop) == len(shop.index) == 3
    assert shop.find(tiny.LAMP.asin) == 0
    assert shop.search("other") == ()


def test_products_kept_in_memory_are_bounded_and_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 2)
    shop = tiny.catalogue(tmp_path)
    for number in (0, 1, 2, 3, 0, 5, 0):
        assert shop[number] == tiny.PRODUCTS[number]
    assert len(shop._kept) == 2
    assert shop[0] is shop[0]


def test_searches_are_kept_but_for_long_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = tiny.catalogue(tmp_path)
    seen: list[str] = []
    found = shop.index.search

    def search(query: str, limit: int) -> list[tuple[int, float]]:
        seen.append(query)
        return found(query, limit)

    monkeypatch.setattr(shop.index, "search", search)
    long = "lamp " + "x" * 131_000
    assert shop.search("lamp") == shop.search("lamp") == shop.search(long) == shop.search(long)
    assert seen == ["lamp", long, long]


def test_an_existing_catalogue_is_opened_and_not_rebuilt(tmp_path: Path) -> None:
    calls: list[None] = []
    first = make_catalogue(tmp_path / "new" / "shop", lambda: tiny.PRODUCTS, lambda: calls.append(None))
    assert len(calls) == 6
    open_catalogue.cache_clear()
    second = make_catalogue(tmp_path / "new" / "shop", lambda: pytest.fail("built again"))
    assert second is not first
    assert second is make_catalogue(tmp_path / "new" / "shop", tuple)  # shared in the process
    assert [second[number] for number in range(6)] == list(tiny.PRODUCTS)


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def products() -> Iterator[Product]:
        yield tiny.LAMP
        raise CairnError("the file is cut short")

    with pytest.raises(CairnError, match="the file is cut short"):
        make_catalogue(tmp_path / "shop", products)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CairnError, match=r"shop.*No space left on device"):
        make_catalogue(tmp_path / "shop", _full_disk)
    with pytest.raises(CairnError, match="at least one product"):
        make_catalogue(tmp_path / "shop", tuple)
    assert list(tmp_path.iterdir()) == []


def _full_disk() -> Iterator[Product]:
    yield tiny.LAMP
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_build_that_was_killed_is_never_opened(tmp_path: Path) -> None:
    """A killed process leaves a folder of another name; the next process ignores its content and builds its own."""
    script = (
        "import os, sys, pathlib; from cairn.envs.webshop import catalogue, generator\n"
        "def products():\n"
        "    yield from generator.products(3, 0)\n"
        "    os.kill(os.getpid(), 9)\n"
        "catalogue.make_catalogue(pathlib.Path(sys.argv[1]), products)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path / "shop")]).returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".shop-")
    assert len(make_catalogue(tmp_path / "shop", lambda: tiny.PRODUCTS)) == 6
    assert left.exists()  # it may still be at work
    shutil.rmtree(tmp_path / "shop")
    for path in (left, *left.rglob("*")):
        os.utime(path, (0, 0))
    make_catalogue(tmp_path / "shop", lambda: tiny.PRODUCTS)
    assert [folder.name for folder in tmp_path.iterdir()] == ["shop"]


def test_of_two_that_build_at_once_the_second_takes_the_firsts(tmp_path: Path) -> None:
    def products() -> Iterator[Product]:
        yield from tiny.PRODUCTS[:3]
        make_catalogue(tmp_path / "shop", lambda: tiny.PRODUCTS)  # another is faster
        yield from tiny.PRODUCTS[3:]

    assert len(make_catalogue(tmp_path / "shop", products)) == 6
    assert [folder.name for folder in tmp_path.iterdir()] == ["shop"]


_BUILD = """
import pathlib, sys, time
from cairn.envs.webshop.catalogue import make_catalogue
from cairn.envs.webshop.generator import products
shop = pathlib.Path(sys.argv[1])
def when_both_are_building():
    end = time.monotonic() + 30
    while not shop.exists() and len(list(shop.parent.glob(".shop-*"))) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    return products(200, 0)
made = make_catalogue(shop, when_both_are_building)
print(len(made), made[199].asin, made.search(made[7].name)[0], len(list(shop.parent.glob(".shop-*"))) < 2)
"""


@pytest.mark.rotating(4)
def test_two_processes_that_build_at_once_both_end_with_a_good_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BUILD, str(tmp_path / "shop")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    reported = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], reported
    asin = make_catalogue(tmp_path / "shop", tuple).asin(199)
    assert [out for out, _ in reported] == [f"200 {asin} 7 True\n"] * 2
    assert [folder.name for folder in tmp_path.iterdir()] == ["shop"]


@pytest.mark.parametrize("file", ["products.jsonl", "offsets.npy", "prices.npy", "index/docs.npy", "index/keys.npy"])
@pytest.mark.parametrize("fault", ["removed", "empty", "cut", "other"])
def test_a_damaged_folder_is_refused(tmp_path: Path, file: str, fault: str) -> None:
    folder = _copy(tmp_path)
    path = folder / file
    whole = path.read_bytes()
    path.unlink()
    if fault != "removed":
        path.write_bytes({"empty": b"", "cut": whole[:-1], "other": b"no array\n"}[fault])
    with pytest.raises(CairnError, match=r"Cannot open the catalogue .*copy'.*Remove it"):
        make_catalogue(folder, lambda: pytest.fail("built again"))


@pytest.mark.parametrize("about", ["", "{", "{}", "[]", "null", '{"format": 2}', "\xff"])
def test_a_damaged_table_of_contents_is_refused(tmp_path: Path, about: str) -> None:
    folder = _copy(tmp_path)
    (folder / "about.json").write_text(about, encoding="latin-1")
    with pytest.raises(CairnError, match=r"Cannot open the catalogue .*copy'.*Remove it"):
        Catalogue(folder)


def test_another_format_is_refused(tmp_path: Path) -> None:
    folder = _copy(tmp_path)
    about = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(CairnError, match=f"is of format 99, expected {module.FORMAT}"):
        Catalogue(folder)


def test_a_folder_without_its_table_of_contents_is_refused_and_kept(tmp_path: Path) -> None:
    folder = _copy(tmp_path)
    (folder / "about.json").unlink()
    with pytest.raises(CairnError, match="Remove it"):
        make_catalogue(folder, lambda: tiny.PRODUCTS)
    assert sorted(os.listdir(tmp_path)) == ["copy", "shop-0"]


def _copy(folder: Path) -> Path:
    """Return a good catalogue's folder that no process has open."""
    return Path(shutil.copytree(tiny.catalogue(folder).folder, folder / "copy"))
