"""Samples of the default run: a part each day, and everything in as many days as there are parts."""

from __future__ import annotations

import pytest

from tests.sampling import is_of_today, sample, sampled_params

pytest_plugins = ["pytester"]


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


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_a_rotating_test_runs_on_one_day_per_rotation(parts: int) -> None:
    for number in range(50):
        days = [seed for seed in range(700, 700 + parts) if is_of_today(f"tests/test_{number}.py::test", parts, seed)]
        assert len(days) == 1


def test_a_rotating_test_of_another_day_is_slow(pytester: pytest.Pytester) -> None:
    tests = "\n".join(f"def test_{number}(): pass" for number in range(20))
    pytester.makepyfile(f"import pytest\npytestmark = pytest.mark.rotating(4)\n{tests}")
    pytester.makeconftest("from tests.conftest import pytest_itemcollected")
    pytester.makeini("[pytest]\nmarkers = rotating(parts)\n slow\n xdist_group")
    everything = pytester.runpytest_inprocess("--collect-only", "-q").parseoutcomes()
    today = pytester.runpytest_inprocess("--collect-only", "-q", "-m", "not slow").parseoutcomes()
    assert everything == {"tests": 20}
    assert 0 < today["deselected"] < 20


def test_the_sample_of_an_empty_list_is_empty() -> None:
    assert sampled_params([]) == []
    assert sample([]) == []
