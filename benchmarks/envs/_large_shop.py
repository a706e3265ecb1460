"""A generated shop as large as the original's full set: index, search and sharing."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from cairn.benchmarks.envs._measure import shared_memory_mb
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.process import in_fresh_process, peak_memory_mb

_WORKERS = 8
_SEARCHES = 200


def measure(num_products: int) -> list[Row]:
    """Measure in separate processes, with the catalogue in a temporary folder."""
    where = f"webshop: {num_products:,} products"
    with tempfile.TemporaryDirectory() as folder:
        built_s, built_mb = in_fresh_process(_build, folder, num_products)
        sizes = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 2**20
        median_ms, worst_ms = in_fresh_process(_search, folder, num_products)
        shared_mb = _share(folder, num_products)
    return [
        row(f"{where}, time to make the catalogue and its index", built_s, "s"),
        row(f"{where}, memory while making them, peak", built_mb, "MB", "< 6144"),
        row(f"{where}, size on disk", sizes, "MB"),
        row(f"{where}, a search for an instruction, median of {_SEARCHES}", median_ms, "ms", "< 20"),
        row(f"{where}, a search for an instruction, 95th of 100", worst_ms, "ms"),
        row(f"{where}, memory of {_WORKERS} workers after {_SEARCHES} searches each", shared_mb, "MB", "< 3072"),
    ]


def _build(folder: str, num_products: int) -> tuple[float, float]:
    start = time.perf_counter()
    _open(folder, num_products)
    return time.perf_counter() - start, peak_memory_mb()


def _open(folder: str, num_products: int) -> Any:  # Any: WebShopEnv, imported here for the memory of processes
    os.environ["CAIRN_CACHE"] = folder
    from cairn.envs.webshop.env import WebShopEnv

    return WebShopEnv(num_products=num_products, split="all")


def _search(folder: str, num_products: int, searches: int = _SEARCHES) -> tuple[float, float]:
    """Return the median and the 95th percentile of search times in ms.

    The queries are instructions spread over all goals.
    """
    env = _open(folder, num_products)
    goals, catalogue = env.shop.goals, env.shop.catalogue
    queries = [goals[i * len(goals) // searches].instruction for i in range(searches)]
    catalogue.search(queries[0])  # the first unknown word loads the stemmer
    spent = []
    for query in queries:
        start = time.perf_counter()
        catalogue.search(query)
        spent.append((time.perf_counter() - start) * 1000)
    spent.sort()
    return spent[len(spent) // 2], spent[len(spent) * 95 // 100]


def _share(folder: str, num_products: int) -> float:
    """Return the total memory of all concurrent workers in MB; shared pages count once."""
    context = multiprocessing.get_context("spawn")
    ready, found = context.Barrier(_WORKERS), context.Queue()
    workers = [context.Process(target=_work, args=(folder, num_products, ready, found)) for _ in range(_WORKERS)]
    for worker in workers:
        worker.start()
    total = sum(float(found.get(timeout=600)) for _ in workers)
    for worker in workers:
        worker.join()
    return total


def _work(folder: str, num_products: int, ready: Any, found: Any) -> None:  # Any: a barrier and a queue
    _search(folder, num_products)
    ready.wait(600)
    megabytes = shared_memory_mb()
    ready.wait(600)
    found.put(megabytes)
