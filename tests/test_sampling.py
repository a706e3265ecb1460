"""Samples of the default run: a part each day, and everything in as many days as there are parts."""

from __future__ import annotations

import pytest

from tests.sampling import sample, sampled_params


@pytest.mark.parametrize("count", [1, 3, 8, 20])
def test_successive_seeds_take_every_item_once(count: int) -> None:
    parts = min(count, 8)
    taken = []
    for seed in range(1000, 1000 + parts):
        params = sampled_params(range(count), seed=seed)
        assert [param.values[0] for param in params] == list(range(count))
        sample = [param.values[0] for param in params if not param.marks]
        assert sample
        taken += sample
    assert sorted(taken) == list(range(count))


def test_a_tuple_is_several_parameters() -> None:
    (param,) = sampled_params([("gui/apps", "anchors")])
    assert param.values == ("gui/apps", "anchors")


def test_the_sample_is_all_that_is_not_slow() -> None:
    params = sampled_params("abcdefghijk", parts=4, seed=2)
    assert [param.values[0] for param in params if not param.marks] == sample("abcdefghijk", parts=4, seed=2)
    assert sample("abcdefghijk", parts=4, seed=2) == ["c", "g", "k"]


def test_nothing_has_no_sample() -> None:
    assert sampled_params([]) == []
    assert sample([]) == []
