"""Where shops come from: files that are there, plain or gzipped, that are not, and that are damaged."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError, MissingDataError
from cairn.envs.webshop import shop as module
from cairn.envs.webshop.shop import Shop, cache_folder, data_file, open_shop, read_products
from tests.envs.webshop.test_products import ABOUT, RAW

ASINS = ("A000000001", "A000000002", "A000000003")


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("CAIRN_DATA", "WEBSHOP_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CAIRN_CACHE", str(tmp_path / "cache"))
    open_shop.cache_clear()
    yield
    open_shop.cache_clear()  # no other test may be given these shops


def write(folder: Path, name: str, data: Any) -> Path:  # Any: JSON
    folder.mkdir(exist_ok=True, parents=True)
    text = data if isinstance(data, str) else json.dumps(data)
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def write_all(folder: Path, suffix: str = "", asins: tuple[str, ...] = ASINS) -> None:
    write(folder, f"items_shuffle_1000.json{suffix}", [{**RAW, "asin": asin} for asin in asins])
    write(folder, f"items_ins_v2_1000.json{suffix}", dict.fromkeys(asins[:2], ABOUT))


def opened(kind: module.GoalKind = "synthetic") -> Shop:
    open_shop.cache_clear()
    return open_shop("webshop-1000", kind, 0, 233, 0, 0)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("variable", "below"), [("CAIRN_DATA", "webshop"), ("CAIRN_DATA", ""), ("WEBSHOP_DATA", "")])
def test_the_originals_files_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str, suffix: str
) -> None:
    write_all(tmp_path / "data" / below, suffix)
    monkeypatch.setenv(variable, str(tmp_path / "data"))
    shop = opened()
    assert [shop.catalogue.asin(number) for number in range(3)] == list(ASINS)
    assert len(shop.goals) == 4  # two products of two colours; the third has no entry among the attributes
    assert shop.catalogue[2].attributes == ("DUMMY_ATTR",)
    assert opened().catalogue is shop.catalogue


def test_the_error_of_missing_data_names_the_file_and_the_searched_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingDataError, match=r"items_shuffle_1000\.json' \(looked at: nowhere") as refused:
        opened()
    assert "source='generated'" in str(refused.value)
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path))
    with pytest.raises(MissingDataError) as refused:
        opened()
    for place in ("webshop/items_shuffle_1000.json", "webshop/items_shuffle_1000.json.gz", "items_shuffle_1000.json"):
        assert str(tmp_path / place) in str(refused.value)
    write(tmp_path, "items_shuffle_1000.json", [])
    with pytest.raises(MissingDataError, match=r"No WebShop file 'items_ins_v2_1000\.json'"):
        opened()
    with pytest.raises(MissingDataError, match=r"items_shuffle\.json"):
        open_shop("webshop-full", "synthetic", 0, 233, 0, 0)


def test_a_plain_file_comes_before_a_gzipped_one_and_CAIRN_DATA_before_WEBSHOP_DATA(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBSHOP_DATA", str(tmp_path / "b"))
    expected = [write(tmp_path / "b", name, "[]") for name in ("x.json.gz", "x.json")]
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path / "a"))
    expected += [write(tmp_path / "a" / below, "x.json.gz", "[]") for below in ("", "webshop")]
    for path in reversed(expected):
        assert data_file("x.json") == path
        path.unlink()
    assert data_file("x.json") is None


def test_other_files_make_another_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path))
    write_all(tmp_path)
    first = opened().catalogue
    write_all(tmp_path, asins=ASINS[:2])
    second = opened().catalogue
    assert (len(first), len(second)) == (3, 2)
    assert first.folder != second.folder
    assert opened().catalogue is second


@pytest.mark.parametrize(
    ("items", "about", "what"),
    [
        ("[1]", "{}", r"items_shuffle_1000\.json', entry 1: "),
        ([RAW, {**RAW, "name": None}], "{}", r"entry 2: expected the text 'name', got None"),
        ([RAW, {}], "{}", "entry 2: expected the text 'asin', got None"),
        ([RAW], {"B07DJJXGB5": {"attributes": "x"}}, "entry 1: expected a list of texts 'attributes'"),
        ([RAW], {"B07DJJXGB5": 5}, "entry 1: "),
        ('[{"asin": "x",\n', "{}", r"items_shuffle_1000\.json', line 1: cut short"),
        ("[]", '{"a": 1,\n]', r"items_ins_v2_1000\.json', line 2: "),
        ("[]", "{}", "at least one product"),
        ([RAW], "{}", "source 'webshop-1000' has no synthetic goals"),
    ],
)
def test_damaged_files_are_refused_by_name_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: Any, about: Any, what: str
) -> None:
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path))
    write(tmp_path, "items_shuffle_1000.json", items)
    write(tmp_path, "items_ins_v2_1000.json", about)
    with pytest.raises(CairnError, match=what):
        opened()


def test_products_are_read_one_at_a_time(tmp_path: Path) -> None:
    products = read_products(
        write(tmp_path, "a.json", f"[{json.dumps(RAW)}, {{"), write(tmp_path, "b.json", {RAW["asin"]: ABOUT})
    )
    assert next(products).instruction == "Find me bright lamps"
    with pytest.raises(CairnError, match="cut short"):
        next(products)


def test_human_goals_are_read_from_a_separate_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path))
    write_all(tmp_path)
    with pytest.raises(MissingDataError, match=r"items_human_ins\.json"):
        opened("human")
    row = {"instruction": "a lamp.", "instruction_attributes": ["bright"], "instruction_options": ["xl"]}
    write(tmp_path, "items_human_ins_overlap13.json.gz", {ASINS[1]: [row]})
    assert [goal.asin for goal in opened("human").goals] == [ASINS[1]]
    write(tmp_path, "items_human_ins.json", {ASINS[0]: [row, row]})  # the whole file comes before the part
    assert [goal.asin for goal in opened("human").goals] == [ASINS[0]] * 2


def test_a_generated_shop_is_made_once_for_its_size_and_seed() -> None:
    def generated(num_products: int, seed: int) -> Shop:
        return open_shop("generated", "synthetic", 0, 233, num_products, seed)

    shop = generated(5, 1)
    assert generated(5, 1) is shop
    assert len(shop.catalogue) == 5
    assert shop.catalogue.folder.parent == cache_folder() / "webshop"
    assert {generated(6, 1).catalogue.folder, generated(5, 2).catalogue.folder}.isdisjoint({shop.catalogue.folder})
    assert len(os.listdir(cache_folder() / "webshop")) == 3
    assert open_shop("generated", "synthetic", 1, 233, 5, 1).catalogue is shop.catalogue


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_CACHE", "/a/b")
    assert cache_folder() == Path("/a/b")
    monkeypatch.setenv("CAIRN_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert cache_folder() == Path("/c/cairn")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert cache_folder() == Path("/home/x/.cache/cairn")
