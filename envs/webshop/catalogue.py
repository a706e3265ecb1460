"""A shop's products on disk, read on demand and shared by all environments and processes.

A catalogue is a folder: one line of JSON per product with a table of offsets, columns of prices and goals, and the
search index. All of it is memory-mapped and never written again, so worker processes share one copy in the page cache.
`make_catalogue` builds the folder under a temporary name and then renames it, so a partial one is never opened.
"""

from __future__ import annotations

import glob
import json
import mmap
import os
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cairn.core.caching import cached_method
from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.envs.webshop.bm25 import Index, mapped
from cairn.envs.webshop.build import IndexWriter, id_ranks
from cairn.envs.webshop.products import Product

FORMAT = 3  # of the folder; `open_catalogue` rejects any other number
_KEPT = 4096  # products and searches kept in memory
_LONG_QUERY = 1000  # characters; results of longer queries are not cached
_LEFT_AFTER = 86_400.0  # seconds after which a temporary folder counts as abandoned
SEARCH_RETURNS = 50
_TENTH = 0x5B117  # scope of the keys that determine products' splits


class Catalogue:
    """N products, by number in the order of the data and by asin."""

    def __init__(self, folder: Path) -> None:
        """Open a folder that `make_catalogue` wrote.

        Raises:
            CairnError: it is damaged or has another format.
        """
        self.folder = folder
        try:
            about = json.loads((folder / "about.json").read_text())
            load = {name: mapped(folder / f"{name}.npy") for name in _COLUMNS}
            self.index = Index(folder / "index")
            with (folder / "products.jsonl").open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            found, names = about["format"], about["groups"]
        except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
            raise _damaged(folder, error) from None
        if found != FORMAT:
            raise CairnError(f"Catalogue {str(folder)!r} is of format {found!r}, expected {FORMAT}. Remove it.")
        if int(load["offsets"][-1]) != len(self._data):
            raise _damaged(folder, f"products.jsonl has {len(self._data)} bytes, expected {load['offsets'][-1]}")
        self._offsets: npt.NDArray[np.int64] = load["offsets"]  # [N + 1]
        self._asins: npt.NDArray[np.bytes_] = load["asins"]  # [N]
        self._by_asin: npt.NDArray[np.int32] = load["by_asin"]  # [N] numbers, sorted by asin
        self.prices: npt.NDArray[np.float64] = load["prices"]  # [N, 2] ends of the price range; NaN: a single price
        self.num_goals: npt.NDArray[np.int32] = load["num_goals"]  # [N] synthetic goals; -1: no instruction
        self.goal_weights: npt.NDArray[np.float64] = load["goal_weights"]  # [N] weight of each of a product's goals
        self.tenth: npt.NDArray[np.uint8] = load["tenth"]  # [N] 0..9, from a key of the asin; for splits by product
        self._groups: dict[str, npt.NDArray[np.int32]] = {name: load[name] for name in ("category", "query")}  # [N]
        self._group_names: dict[str, list[str]] = names
        self._kept: OrderedDict[int, Product] = OrderedDict()
        self._search = cached_method(self._search_index, _KEPT)  # cached because episodes of one task repeat searches

    def __len__(self) -> int:
        return len(self._asins)

    def __getitem__(self, number: int) -> Product:
        """Return a product by number."""
        product = self._kept.pop(number, None)
        if product is None:
            line = self._data[int(self._offsets[number]) : int(self._offsets[number + 1])]
            product = Product.from_json(json.loads(line))
        self._kept[number] = product
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return product

    def asin(self, number: int) -> str:
        """Return a product's asin."""
        return bytes(self._asins[number]).decode()

    def find(self, asin: str) -> int | None:
        """Return the number of the product with this asin, or None."""
        if not asin.isascii() or len(asin) > 10:
            return None
        at = int(np.searchsorted(self._asins, asin.encode(), sorter=self._by_asin))
        if at == len(self) or self.asin(int(self._by_asin[at])) != asin:
            return None
        return int(self._by_asin[at])

    def search(self, query: str) -> tuple[int, ...]:
        """Return the numbers of the best 50 products, best first."""
        return self._search(query) if len(query) <= _LONG_QUERY else self._search_index(query)

    def _search_index(self, query: str) -> tuple[int, ...]:
        return tuple(number for number, _ in self.index.search(query, SEARCH_RETURNS))

    def of_group(self, column: str, name: str) -> tuple[int, ...]:
        """Return the numbers of all products of a category or of a query, in the data's order."""
        names = self._group_names[column]
        if name not in names:
            return ()
        return tuple(np.flatnonzero(self._groups[column] == names.index(name)).tolist())


def _damaged(folder: Path, why: object) -> CairnError:
    return CairnError(f"Cannot open the catalogue {str(folder)!r}: {why}. Remove it; it is built again.")


_COLUMNS = ("offsets", "asins", "by_asin", "prices", "num_goals", "goal_weights", "tenth", "category", "query")


@lru_cache(maxsize=8)
def open_catalogue(folder: Path) -> Catalogue:
    """Return a folder's catalogue; all callers in a process share it."""
    return Catalogue(folder)


def make_catalogue(
    folder: Path, products: Callable[[], Iterable[Product]], progress: Callable[[], None] | None = None
) -> Catalogue:
    """Return the catalogue in `folder`; builds it from `products` if it is missing.

    Args:
        folder: the catalogue's folder; its parent is created.
        products: called to build the catalogue; later products with a known asin are dropped.
        progress: called after each product.

    Raises:
        CairnError: the catalogue cannot be written, or the existing one is damaged.
    """
    try:
        build_folder(folder, lambda building: _write(building, products(), progress))
    except OSError as error:
        raise CairnError(
            f"Cannot write the catalogue {str(folder)!r}: {error}. CAIRN_CACHE names another folder to keep it in."
        ) from None
    return open_catalogue(folder)


def build_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Create a folder atomically unless it exists.

    `write` fills a temporary folder beside it, which is then renamed.

    Raises:
        OSError: it cannot be written.
    """
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write(building)
        os.rename(building, folder)
    except OSError:
        if not folder.is_dir():  # another process may have created it first
            raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders of killed builds, a day after the last write to them."""
    for left in folder.parent.glob(f".{glob.escape(folder.name)}-*"):
        with suppress(OSError):  # another process may remove it
            if time.time() - max(path.stat().st_mtime for path in (left, *left.rglob("*"))) > _LEFT_AFTER:
                shutil.rmtree(left, ignore_errors=True)


def _write(folder: Path, products: Iterable[Product], progress: Callable[[], None] | None) -> None:
    index = IndexWriter(folder / "index")
    asins: dict[str, None] = {}
    offsets, prices, goals = [0], [], []
    groups: dict[str, dict[str, int]] = {"category": {}, "query": {}}
    of_group: dict[str, list[int]] = {"category": [], "query": []}
    with (folder / "products.jsonl").open("wb") as file:
        for product in products:
            if product.asin in asins:
                continue
            asins[product.asin] = None
            offsets.append(offsets[-1] + file.write(json.dumps(product.to_json()).encode() + b"\n"))
            prices.append((*product.prices, np.nan)[:2])
            goals.append(-1 if product.instruction is None else product.num_combinations)
            for column, names in groups.items():
                of_group[column].append(names.setdefault(getattr(product, column), len(names)))
            index.add(product.document)
            index.know(f"{product.instruction or ''}, with and price lower than dollars".lower())
            if progress is not None:
                progress()
    if not asins:
        raise CairnError("A catalogue needs at least one product")
    index.finish(id_ranks(list(asins)))
    known = np.array(list(asins), dtype="S10")
    columns: dict[str, npt.NDArray[Any]] = {  # Any: arrays of several dtypes
        "offsets": np.array(offsets, np.int64), "asins": known, "by_asin": np.argsort(known).astype(np.int32),
        "prices": np.array(prices, np.float64), "num_goals": np.array(goals, np.int32),
        "goal_weights": _goal_weights(folder, goals),
        "tenth": np.array([text_key(asin, _TENTH) % 10 for asin in asins], np.uint8),
        **{column: np.array(numbers, np.int32) for column, numbers in of_group.items()},
    }  # fmt: skip
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values)
    about = {"format": FORMAT, "num_products": len(known), "groups": {name: list(of) for name, of in groups.items()}}
    (folder / "about.json").write_text(json.dumps(about))


def _goal_weights(folder: Path, num_goals: list[int]) -> npt.NDArray[np.float64]:
    """Return the mean over a product's attributes of 1 / (goals that ask for the attribute)."""
    counts: dict[str, int] = {}
    for attributes, goals in zip(_goal_attributes(folder), num_goals, strict=True):
        for attribute in attributes if goals > 0 else ():
            counts[attribute] = counts.get(attribute, 0) + goals
    return np.array(
        [
            sum(1.0 / counts[attribute] for attribute in attributes) / len(attributes)
            if goals > 0 and attributes
            else 0.0
            for attributes, goals in zip(_goal_attributes(folder), num_goals, strict=True)
        ]
    )


def _goal_attributes(folder: Path) -> Iterator[list[str]]:
    with (folder / "products.jsonl").open("rb") as file:
        for line in file:
            yield json.loads(line)["instruction_attributes"]
