"""What the cache should do: the tests that judge a repair."""

from cachebox.cache import Cache, TooHeavyError
from cachebox.clock import Clock
from cachebox.loader import Loader


def filled(capacity, *keys, ttl=None):
    cache = Cache(capacity, ttl)
    for number, key in enumerate(keys):
        cache.put(key, number)
    return cache


def counts(cache):
    return (cache.counts.hits, cache.counts.misses, cache.counts.dropped, cache.counts.expired)


def test_age_is_reached_with_the_last_second():
    cache = filled(3, "k", ttl=4)
    cache.clock.advance(3.5)
    assert cache.remaining("k") == 0.5
    assert cache.get("k") == 0
    cache.clock.advance(0.5)
    assert cache.get("k", "gone") == "gone"
    assert "k" not in cache


def test_every_entry_may_have_its_own_age():
    cache = Cache(5, ttl=10)
    cache.put("short", 1, ttl=2)
    cache.put("usual", 2)
    cache.clock.advance(2)
    assert cache.keys() == ["usual"]
    cache.put("long", 3, ttl=50)
    cache.clock.advance(8)
    assert cache.keys() == ["long"]
    assert cache.remaining("long") == 42


def test_without_age_values_stay():
    cache = filled(2, "a")
    cache.clock.advance(10**9)
    assert cache.get("a") == 0
    assert cache.remaining("a") is None
    cache.put("b", 5, ttl=1)
    assert cache.remaining("b") == 1


def test_a_put_of_a_known_key_replaces_everything():
    cache = Cache(6, ttl=10)
    cache.put("a", "old", weight=4)
    cache.put("b", "other", weight=2)
    cache.clock.advance(6)
    assert cache.put("a", "new", weight=3) == []
    assert cache.keys() == ["b", "a"]
    assert cache.weight() == 5
    assert cache.remaining("a") == 10
    assert cache.get("a") == "new"
    assert len(cache) == 2


def test_several_keys_are_dropped_in_order():
    cache = filled(4, "a", "b", "c", "d")
    cache.get("a")
    cache.get("c")
    assert cache.put("e", 9, weight=3) == ["b", "d", "a"]
    assert cache.keys() == ["c", "e"]
    assert cache.counts.dropped == 3


def test_what_is_full_is_not_too_full():
    cache = filled(2, "a")
    assert cache.put("b", 2) == []
    assert cache.put("whole", 3, weight=2) == ["a", "b"]
    assert cache.keys() == ["whole"]


def test_the_old_leave_before_the_unused():
    cache = Cache(3)
    cache.put("first", 1)
    cache.put("brief", 2, ttl=5)
    cache.put("third", 3)
    cache.clock.advance(5)
    assert cache.put("fourth", 4) == []
    assert cache.keys() == ["first", "third", "fourth"]
    assert counts(cache) == (0, 0, 0, 1)


def test_peeking_is_no_use():
    cache = filled(2, "a", "b")
    assert cache.peek("a") == 0
    assert cache.peek("x", "none") == "none"
    assert "a" in cache
    assert cache.put("c", 2) == ["a"]
    assert counts(cache) == (0, 0, 1, 0)


def test_peeking_at_what_is_too_old():
    cache = filled(2, "a", ttl=3)
    cache.clock.advance(3)
    assert cache.peek("a", "gone") == "gone"
    assert cache.peek("a") is None
    assert len(cache) == 0
    assert counts(cache) == (0, 0, 0, 1)


def test_senseless_numbers_are_refused():
    for capacity, ttl in ((0, None), (3, 0), (3, -1)):
        try:
            Cache(capacity, ttl)
        except ValueError:
            pass
        else:
            raise AssertionError((capacity, ttl))
    cache = filled(3, "a")
    for weight, ttl in ((0, None), (1, 0)):
        try:
            cache.put("b", 1, weight, ttl)
        except ValueError:
            pass
        else:
            raise AssertionError((weight, ttl))
    try:
        cache.put("a", 1, 4)
    except TooHeavyError:
        assert cache.get("a") == 0
    else:
        raise AssertionError("4 of 3 units were stored")
    assert Cache(1, 0.5).put("a", 1) == []


def test_removed_keys_make_room():
    cache = filled(2, "a", "b")
    assert cache.remove("a")
    assert not cache.remove("a")
    assert cache.put("c", 1) == []
    assert cache.weight() == 2
    brief = filled(2, "x", ttl=1)
    brief.clock.advance(1)
    assert not brief.remove("x")
    assert counts(brief) == (0, 0, 0, 1)


def test_touched_keys_begin_anew():
    cache = filled(3, "a", "b", ttl=10)
    cache.clock.advance(8)
    assert cache.touch("a")
    assert (cache.remaining("a"), cache.remaining("b")) == (10, 2)
    assert cache.keys() == ["b", "a"]
    assert cache.touch("b", ttl=3)
    assert cache.remaining("b") == 3
    cache.clock.advance(3)
    assert not cache.touch("b")
    assert cache.keys() == ["a"]
    assert cache.counts.hits == 0


def test_keys_that_are_not_there_have_no_time_left():
    cache = filled(2, "a", ttl=2)
    cache.clock.advance(2)
    for key in ("a", "b"):
        try:
            cache.remaining(key)
        except KeyError:
            pass
        else:
            raise AssertionError(key)


def test_everything_is_counted_once():
    cache = filled(2, "a", "b", "c", ttl=5)
    assert [cache.get(key) for key in "abca"] == [None, 1, 2, None]
    assert counts(cache) == (2, 2, 1, 0)
    cache.clock.advance(5)
    assert cache.get("b") is None
    assert cache.keys() == []
    assert counts(cache) == (2, 3, 1, 2)
    assert cache.counts.rate() == 0.4
    assert Cache(1).counts.rate() == 0.0


def test_time_does_not_go_back():
    clock = Clock()
    clock.advance(0)
    try:
        clock.advance(-1)
    except ValueError:
        assert clock.now == 0
    else:
        raise AssertionError("time went back")


def test_parts_are_cached_for_themselves():
    loader = Loader({"bo": {"b": 2, "a": 1}, "cy": {"a": 5, "b": None}}, 10)
    assert loader.load("bo", "a") == 1
    assert loader.load("cy", "a") == 5
    assert loader.load("bo", "b") == 2
    assert loader.load("bo") == [("a", 1), ("b", 2)]
    assert loader.reads == 4
    assert loader.load("cy", "b") is None
    assert loader.load("cy", "b") is None
    assert loader.load("bo", "a") == 1
    assert loader.reads == 5


def test_forgotten_rows_are_read_again():
    loader = Loader({"bo": {"a": 1, "b": 2}, "cy": {"a": 5}}, 10)
    loader.load("bo", "a")
    loader.load("bo")
    loader.load("cy", "a")
    assert loader.forget("bo") == 2
    assert loader.forget("bo") == 0
    assert loader.load("cy", "a") == 5
    assert loader.reads == 3
    assert loader.load("bo", "a") == 1
    assert loader.reads == 4


def test_loaded_rows_grow_old_and_are_dropped():
    loader = Loader({"bo": {"a": 1}, "cy": {"a": 5}, "di": {"a": 6}}, 2, 30)
    for name in ("bo", "cy", "di", "bo"):
        loader.load(name, "a")
    assert loader.reads == 4
    assert loader.cache.keys() == [("di", "a"), ("bo", "a")]
    loader.cache.clock.advance(30)
    loader.load("bo", "a")
    assert loader.reads == 5


def test_rows_that_are_not_there_are_not_cached():
    loader = Loader({"bo": {"a": 1}}, 2)
    for name, part in (("xx", "all"), ("bo", "z")):
        try:
            loader.load(name, part)
        except KeyError:
            pass
        else:
            raise AssertionError(name)
    assert len(loader.cache) == 0
