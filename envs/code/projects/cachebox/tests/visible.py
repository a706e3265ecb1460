"""What the cache should do: the tests that everybody sees."""

from cachebox.cache import Cache, TooHeavyError
from cachebox.clock import Clock
from cachebox.loader import Loader


def test_values_are_kept():
    cache = Cache(3)
    cache.put("a", 1)
    assert cache.get("a") == 1
    assert cache.get("b") is None
    assert cache.get("b", 7) == 7


def test_the_key_used_longest_ago_is_dropped():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    assert cache.put("c", 3) == ["b"]
    assert cache.keys() == ["a", "c"]


def test_old_values_are_forgotten():
    cache = Cache(2, ttl=10)
    cache.put("a", 1)
    cache.clock.advance(9)
    assert "a" in cache
    cache.clock.advance(2)
    assert "a" not in cache
    assert len(cache) == 0


def test_weights_count():
    cache = Cache(10)
    cache.put("a", 1, weight=6)
    cache.put("b", 2, weight=3)
    assert cache.weight() == 9
    assert cache.put("c", 3, weight=4) == ["a"]


def test_too_heavy_values_are_refused():
    cache = Cache(4)
    try:
        cache.put("a", 1, weight=5)
    except TooHeavyError:
        assert len(cache) == 0
    else:
        raise AssertionError("5 of 4 units were stored")


def test_clocks_go_forward():
    clock = Clock(5)
    clock.advance(3)
    assert clock.now == 8


def test_rows_are_read_once():
    loader = Loader({"ann": {"age": 41, "town": "Ulm"}}, 5)
    assert loader.load("ann") == [("age", 41), ("town", "Ulm")]
    assert loader.load("ann") == [("age", 41), ("town", "Ulm")]
    assert loader.reads == 1


def test_hits_are_counted():
    cache = Cache(2)
    cache.put("a", 1)
    cache.get("a")
    cache.get("x")
    assert (cache.counts.hits, cache.counts.misses, cache.counts.rate()) == (1, 1, 0.5)
