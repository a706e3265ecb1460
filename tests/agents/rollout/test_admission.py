"""Predicted peaks, computed by hand, and admitted episodes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.agents.rollout.admission import CacheAdmission, peak


@pytest.mark.parametrize(
    ("current", "remaining", "most"),
    [
        ([10, 10], [5, 2], 24),  # 5 * 1 + 10 = 15; when the second ends both have grown by 2: 2 * 2 + 20 = 24
        ([10, 10], [2, 5], 24),
        ([3], [4], 7),
        ([3, 4], [0, 0], 7),
        ([0, 100], [50, 1], 102),  # 50 * 1 + 0; 1 * 2 + 100
        ([], [], 0),
    ],
)
def test_the_peak_by_hand(current: list[int], remaining: list[int], most: int) -> None:
    assert peak(current, remaining) == most


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=8))
def test_the_peak_is_the_largest_sum_of_a_step_by_step_run(sequences: list[tuple[int, int]]) -> None:
    held = [
        sum(length + step for length, left in sequences if left >= step)
        for step in range(max(r for _, r in sequences) + 1)
    ]
    assert peak(*zip(*sequences, strict=True)) == max(held)


def test_nothing_known_means_the_worst() -> None:
    assert CacheAdmission(150, 100, reserve=0.0).admits([50])  # after 50 steps the old one has 100 and the new one 50
    assert not CacheAdmission(149, 100, reserve=0.0).admits([50])
    assert not CacheAdmission(157, 100).admits([50])  # a twentieth of it is never promised


def test_short_finished_episodes_allow_more_admissions() -> None:
    admission = CacheAdmission(150, 100, window=50)
    assert not admission.admits([10, 10])
    for _ in range(50):
        admission.record(20)
    admission.longest = 30
    assert admission.admits([10, 10])
    for _ in range(50):
        admission.record(90)
    assert not admission.admits([10, 10])


@pytest.mark.rotating(4)
def test_it_admits_more_than_the_worst_case_and_overruns_less_than_the_present_sum() -> None:
    """Sequences of 10 to 100 tokens, one token a step each, into room for 1,000."""
    rng = np.random.default_rng(0)

    def run(admits: object) -> tuple[float, int]:
        active: list[list[int]] = []
        held, overruns = [], 0
        admission = CacheAdmission(1000, 100)
        for _ in range(3000):
            lengths = [length for length, _ in active]
            fits = {
                "forecast": admission.admits(lengths),
                "worst": (len(active) + 1) * 100 <= 1000,
                "sum": sum(lengths) < 1000,
            }
            if fits[str(admits)]:
                active.append([0, int(rng.integers(10, 101))])
            for episode in active:
                episode[0] += 1
            for episode in [f for f in active if f[0] >= f[1]]:
                admission.record(episode[0])
                active.remove(episode)
            held.append(sum(length for length, _ in active))
            overruns += held[-1] > 1000
        return float(np.mean(held[500:])), overruns

    (used, over), (worst_used, worst_over), (_, sum_over) = run("forecast"), run("worst"), run("sum")
    assert used > 1.3 * worst_used
    assert worst_over == 0
    assert over < sum_over / 10


def test_a_restored_forecast_continues_from_its_state() -> None:
    def asked(of: CacheAdmission, count: int) -> list[bool]:
        return [of.admits([10, 40, 20 + i % 30]) for i in range(count)]

    undisturbed, stopped = (CacheAdmission(380, 200, seed=3) for _ in range(2))
    for length in (30, 60, 90, 120, 150):
        undisturbed.record(length)
        stopped.record(length)
    assert asked(undisturbed, 40) == asked(stopped, 40)
    resumed = CacheAdmission(380, 200, seed=4)
    resumed.load_state_dict(json.loads(json.dumps(stopped.state_dict())))
    found = asked(resumed, 60)
    assert found == asked(undisturbed, 60)
    assert len(set(found)) == 2
