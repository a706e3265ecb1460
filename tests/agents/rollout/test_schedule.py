"""Which groups may begin and which a batch takes: by hand, and under any order of events."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from cairn.agents.rollout.schedule import GroupSchedule, ScheduleConfig


def schedule(batch: int, over: float = 0.0, staleness: int = 0, version: int = 0) -> GroupSchedule[str]:
    return GroupSchedule(batch, ScheduleConfig(over_provision=over, staleness=staleness), version)


def begun(of: GroupSchedule[str], *keys: str) -> GroupSchedule[str]:
    for key in keys:
        assert of.may_begin()
        of.begin(key)
    return of


def taken(of: GroupSchedule[str]) -> list[str] | None:
    batch = of.take()
    return None if batch is None else [group.key for group in batch]


def test_without_over_provision_an_update_begins_and_takes_its_own_groups() -> None:
    of = begun(schedule(2), "a", "b")
    assert not of.may_begin()
    of.complete("b")
    assert not of.may_begin()  # nothing begins under weights that it may not be trained on
    assert taken(of) is None
    of.complete("a")
    assert taken(of) == ["b", "a"]
    assert of.version == 1
    assert of.may_begin()


def test_with_over_provision_an_update_takes_complete_groups_and_the_others_continue() -> None:
    of = begun(schedule(2, over=1.0, staleness=1), "a", "b", "c", "d")
    assert not of.may_begin()
    of.complete("c")
    of.complete("a")
    assert taken(of) == ["c", "a"]
    begun(of, "e", "f")
    of.complete("e")
    of.complete("f")
    assert taken(of) is None  # b and d began one update ago: the coming one is their last
    of.complete("d")
    assert taken(of) is None
    of.complete("b")
    assert taken(of) == ["d", "b"]
    assert [group.key for group in of.ready] == ["e", "f"]


def test_a_batch_waits_for_an_old_group_so_that_later_batches_are_not_too_large() -> None:
    """Of three groups of version 0, one must be taken by each update: the second cannot take the newer one instead."""
    of = begun(schedule(1, over=2.0, staleness=2), "a", "b", "c")
    of.complete("a")
    assert taken(of) == ["a"]
    begun(of, "d")
    of.complete("d")
    assert taken(of) is None
    of.complete("c")
    assert taken(of) == ["c"]


def test_a_rejected_group_leaves_room_for_another() -> None:
    of = begun(schedule(1), "a")
    of.complete("a")
    assert not of.may_begin()
    of.reject("a")
    assert taken(of) is None
    begun(of, "b")
    of.complete("b")
    assert taken(of) == ["b"]


def test_a_resumed_run_keeps_the_versions_of_its_groups() -> None:
    of = schedule(1, over=1.0, staleness=1, version=5)
    of.begin("old", version=4)
    begun(of, "new")
    of.complete("new")
    assert taken(of) is None
    of.complete("old")
    assert taken(of) == ["old"]


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"over_provision = 0\.5 needs staleness"):
        ScheduleConfig(over_provision=0.5)
    with pytest.raises(ValueError, match="at least one group"):
        schedule(0)
    with pytest.raises(ValueError, match="'a' has begun already"):
        begun(schedule(2), "a", "a")


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 4), st.integers(0, 3), st.floats(0, 3), st.lists(st.integers(0, 10**6), max_size=400))
def test_no_group_is_lost_or_stale_and_none_waits_for_ever(
    batch: int, staleness: int, over: float, events: list[int]
) -> None:
    of = GroupSchedule[int](batch, ScheduleConfig(over_provision=min(over, staleness), staleness=staleness))
    began: dict[int, int] = {}
    used: list[int] = []
    rejected = 0
    for event in events:
        while of.may_begin():
            began[len(began)] = of.version
            of.begin(len(began) - 1)
        running, ready = [g.key for g in of.running], [g.key for g in of.ready]
        assert running or of.limit == len(ready)
        if event % 10 == 0 and ready:
            of.reject(ready[event // 10 % len(ready)])
            rejected += 1
        elif running:
            of.complete(running[event // 10 % len(running)])
        version = of.version
        if (chosen := of.take()) is not None:
            assert len(chosen) == batch
            assert of.version == version + 1
            assert all(version - began[group.key] <= staleness for group in chosen)
            used += [group.key for group in chosen]
        elif not of.running and not of.may_begin():
            pytest.fail("nothing runs, nothing may begin, and no batch comes")
    assert len(used) == len(set(used))
    assert len(used) + rejected + len(of.running) + len(of.ready) == len(began)
