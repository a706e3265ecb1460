"""Caches of methods: results are kept, the last ones, and the object goes when nobody holds it."""

from __future__ import annotations

import gc
import os
from weakref import ref

import pytest

import cairn
from cairn.core.caching import cached_method


class Counts:
    def __init__(self) -> None:
        self.asked: list[int] = []
        self.double = cached_method(self._double, 2)

    def _double(self, number: int) -> int:
        self.asked.append(number)
        return 2 * number


def test_the_last_results_are_kept() -> None:
    counts = Counts()
    assert [counts.double(number) for number in (1, 1, 2, 3, 2, 1)] == [2, 2, 4, 6, 4, 2]
    assert counts.asked == [1, 2, 3, 1]


def test_the_object_goes_without_a_search_for_cycles() -> None:
    counts = Counts()
    counts.double(1)
    gone = ref(counts)
    gc.disable()
    try:
        del counts
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("env_id", ["webshop", "webshop/basket"])
def test_evicted_shops_hold_no_file_descriptors(env_id: str) -> None:
    def play(seed: int) -> None:
        env = cairn.make(env_id, source="generated", num_products=60, shop_seed=seed)
        env.reset(seed=0)
        env.step("search[red]")
        env.close()

    for seed in range(8):  # as many as are kept
        play(seed)
    before = len(os.listdir("/proc/self/fd"))
    gc.disable()
    try:
        for seed in range(8, 14):
            play(seed)
        assert len(os.listdir("/proc/self/fd")) <= before
    finally:
        gc.enable()
