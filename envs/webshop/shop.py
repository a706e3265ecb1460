"""Opens shops: products, index, goals and prices, shared by all environments of a process.

Sources: ``generated`` (from a seed, see `generator`), ``webshop-1000`` and ``webshop-full`` (the original's files,
found through CAIRN_DATA or WEBSHOP_DATA). A source is converted to a catalogue once, under CAIRN_CACHE (default: the
user's cache folder), and mapped from there. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from cairn.core.errors import CairnError, MissingDataError
from cairn.envs.webshop import generator
from cairn.envs.webshop.catalogue import FORMAT, Catalogue, make_catalogue
from cairn.envs.webshop.goals import Goals
from cairn.envs.webshop.json_reader import items, pairs
from cairn.envs.webshop.products import Product, clean

Source = Literal["generated", "webshop-1000", "webshop-full"]
GoalKind = Literal["synthetic", "human"]
_FILES: Mapping[str, tuple[str, str]] = {
    "webshop-1000": ("items_shuffle_1000.json", "items_ins_v2_1000.json"),
    "webshop-full": ("items_shuffle.json", "items_ins_v2.json"),
}
_HUMAN = ("items_human_ins.json", "items_human_ins_overlap13.json")


@dataclass(frozen=True)
class Shop:
    """One source with one draw of prices and goals."""

    catalogue: Catalogue
    goals: Goals


@lru_cache(maxsize=8)
def open_shop(
    source: Source, kind: GoalKind, price_seed: int, shuffle_seed: int, num_products: int, shop_seed: int
) -> Shop:
    """Return a shop; all callers in a process share it.

    The last two settings apply only to generated shops.

    Raises:
        MissingDataError: a file is missing; lists the paths tried and the variables to set.
        CairnError: a file is damaged; names the file and line.
    """
    catalogue = _generated(num_products, shop_seed) if source == "generated" else _original(source)
    human = None if kind == "synthetic" else _human(source)
    goals = Goals(catalogue, human, price_seed=price_seed, shuffle_seed=shuffle_seed)
    if not len(goals):
        raise CairnError(f"webshop: source {source!r} has no {kind} goals")
    return Shop(catalogue, goals)


def cache_folder() -> Path:
    """Return the folder of catalogues: CAIRN_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("CAIRN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cairn"


def data_file(name: str) -> Path | None:
    """Return one of the original's files, plain or gzipped, or None."""
    return next((path for path in _candidates(name) if path.is_file()), None)


def _candidates(name: str) -> list[Path]:
    folders = []
    if compact := os.environ.get("CAIRN_DATA"):
        folders = [Path(compact) / "webshop", Path(compact)]
    if original := os.environ.get("WEBSHOP_DATA"):
        folders.append(Path(original))
    return [folder / file for folder in folders for file in (name, f"{name}.gz")]


def _found(name: str) -> Path:
    path = data_file(name)
    if path is None:
        looked = ", ".join(map(str, _candidates(name))) or "nowhere: neither variable is set"
        raise MissingDataError(
            f"No WebShop file {name!r} (looked at: {looked}). Set CAIRN_DATA to the folder that holds webshop/{name}, "
            "or WEBSHOP_DATA to the original's data folder; docs/envs/webshop.md says how to get it. "
            "The generated shop needs no data: source='generated'."
        )
    return path


def _generated(num_products: int, seed: int) -> Catalogue:
    name = f"generated-{generator.VERSION}.{FORMAT}-{num_products}-{seed}"
    with _progress(f"Making a shop of {num_products:,} products", num_products) as advance:
        return make_catalogue(
            cache_folder() / "webshop" / name, lambda: generator.products(num_products, seed), advance
        )


def _original(source: str) -> Catalogue:
    path, about_path = map(_found, _FILES[source])
    stamp = "|".join(f"{file.resolve()}|{file.stat().st_size}|{file.stat().st_mtime_ns}" for file in (path, about_path))
    name = f"{source}-{FORMAT}-{hashlib.blake2b(stamp.encode(), digest_size=6).hexdigest()}"
    with _progress(f"Making the catalogue of {source}", None) as advance:
        return make_catalogue(cache_folder() / "webshop" / name, lambda: read_products(path, about_path), advance)


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a progress bar on a terminal while products are read.

    An existing catalogue needs no reading and shows no bar.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda: progress.advance(bar)


def read_products(path: Path, about_path: Path) -> Iterator[Product]:
    """Yield the products of the original's two files, one in memory at a time.

    Raises:
        CairnError: a file or an entry of it is malformed.
    """
    find = _attributes(about_path)
    for place, raw in enumerate(items(path)):
        try:
            product = clean(raw, find(raw.get("asin", "")) if isinstance(raw, dict) else None)
        except (CairnError, AttributeError) as error:
            raise CairnError(f"{str(path)!r}, entry {place + 1}: {error}") from None
        if product is not None:
            yield product


def _attributes(path: Path) -> Callable[[str], Mapping[str, Any] | None]:  # Any: JSON
    """Return a look-up in the attributes file.

    Its entries are kept compressed, since a full file has a million.
    """
    import json
    import zlib

    kept = {asin: zlib.compress(json.dumps(about).encode(), 1) for asin, about in pairs(path)}

    def find(asin: str) -> Mapping[str, Any] | None:  # Any: JSON
        found = kept.get(asin)
        return None if found is None else json.loads(zlib.decompress(found))

    return find


def _human(source: str) -> dict[str, Sequence[Mapping[str, Any]]]:  # Any: JSON
    if source == "generated":
        raise CairnError("webshop: the generated shop has no human goals; take goals='synthetic' or another source")
    path = data_file(_HUMAN[0]) or data_file(_HUMAN[1])
    return dict(pairs(path if path is not None else _found(_HUMAN[0])))
