"""Intervals, repeated attempts, pairs and Shapley values, against SciPy, brute force and numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.agents.evaluation.statistics import (
    best_of_n,
    interval,
    mcnemar,
    paired,
    pass_at_k,
    pass_hat_k,
    shapley,
    student,
    wilson,
)
from cairn.core.errors import CairnError


def once(values: list[float]) -> dict[str, list[float]]:
    return {str(n): [value] for n, value in enumerate(values)}


@pytest.mark.parametrize("episodes", [1, 2, 7, 100, 5000])
def test_wilsons_interval_is_scipys(episodes: int) -> None:
    for successes in {0, 1, episodes // 3, episodes // 2, episodes - 1, episodes}:
        expected = scipy.stats.binomtest(successes, episodes).proportion_ci(0.95, method="wilson")
        assert wilson(successes, episodes) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilsons_interval_by_hand() -> None:
    # p = 0.5, n = 4, z^2 = 3.841459: centre (0.5 + 0.480182) / 1.960365 = 0.5;
    # half 1.959964 sqrt(0.0625 + 0.060023) / 1.960365 = 0.349962
    assert wilson(2, 4) == pytest.approx((0.150039, 0.849961), abs=1e-5)


def test_one_attempt_a_task_has_wilsons_interval() -> None:
    found = interval(once([1, 1, 0, 0]))
    assert (found.mean, found.tasks) == (0.5, 4)
    assert (found.low, found.high) == wilson(2, 4)
    assert str(found) == "0.500 [0.150, 0.850]"


def test_attempts_at_one_task_are_one_unit() -> None:
    """Ten attempts at each of two tasks, one always solved and one never, say no more than two attempts do."""
    found = interval({"a": [1.0] * 10, "b": [0.0] * 10})
    assert found.mean == 0.5
    assert (found.low, found.high) == pytest.approx(wilson(1, 2))
    assert interval({"a": [1.0] * 30, "b": [0.0]}).mean == 0.5


def test_attempts_count_as_an_effective_number_of_episodes_by_the_spread_over_tasks() -> None:
    """Shares 1, 0.5, 0.5, 1 of two attempts each: p = 0.75, s^2 = 0.25 / 3, so 0.1875 * 4 / 0.08333 = 9, of 8 at most.

    Shares 1, 0, 0.5, 1: p = 0.625, s^2 = 0.6875 / 3; 0.234375 * 4 / 0.229167 = 4.0909.
    """
    alike = interval({"a": [1, 1], "b": [1, 0], "c": [0, 1], "d": [1, 1]})
    assert (alike.low, alike.high) == pytest.approx(wilson(6, 8))
    apart = interval({"a": [1, 1], "b": [0, 0], "c": [0, 1], "d": [1, 1]})
    assert (apart.low, apart.high) == pytest.approx(wilson(0.625 * 45 / 11, 45 / 11))
    uneven = interval({"a": [1, 0], "b": [1, 0, 1, 0, 1, 0]})  # no spread: 4 / (1 / 2 + 1 / 6) = 6
    assert (uneven.low, uneven.high) == pytest.approx(wilson(3, 6))


@pytest.mark.parametrize("attempts", [1, 4, 50])
def test_the_interval_of_tasks_that_always_succeed_depends_on_the_number_of_tasks(attempts: int) -> None:
    found = interval({str(n): [1.0] * attempts for n in range(8)})
    assert (found.mean, found.low, found.high) == (1.0, *wilson(8, 8))
    assert found.low == pytest.approx(0.676, abs=1e-3)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=30), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_the_interval_of_scores_is_scipys(scores: list[float], seed: int) -> None:
    scores = [*scores, 0.25, 0.75]  # of no single value
    found = interval(once(scores), seed)
    rng = np.random.default_rng(seed)
    expected = scipy.stats.bootstrap((scores,), np.mean, n_resamples=4999, rng=rng, vectorized=True).confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.low <= found.mean <= found.high


CHANCES: dict[str, tuple[float, Callable[[np.random.Generator, int], np.ndarray]]] = {
    "spread": (0.5, lambda rng, tasks: rng.random(tasks)),
    "nearly always": (0.98, lambda rng, tasks: np.full(tasks, 0.98)),
    "mostly": (8 / 9, lambda rng, tasks: rng.beta(8, 1, tasks)),
    "all or nothing": (0.7, lambda rng, tasks: (rng.random(tasks) < 0.7).astype(float)),
}


@pytest.mark.rotating(3)
@pytest.mark.parametrize("tasks", [20, 100])
@pytest.mark.parametrize("name", CHANCES)
def test_intervals_of_95_percent_cover_the_truth_in_95_percent_of_samples(name: str, tasks: int) -> None:
    """1,000 samples with 4 attempts at each task: 95 % hold the mean chance, give or take 3.5 points."""
    truth, draw = CHANCES[name]
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(1000):
        found = interval({str(n): list(rng.binomial(1, chance, 4)) for n, chance in enumerate(draw(rng, tasks))})
        held += found.low <= truth <= found.high
    assert held / 1000 == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.98), (0.2, 0.5), (0.98, 0.98)])
def test_intervals_of_differences_cover_the_truth(first: float, second: float) -> None:
    """1,000 samples of 100 tasks; where both nearly always succeed the interval is rather too wide."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(1000):
        difference = paired(
            once(list(rng.binomial(1, first, 100))), once(list(rng.binomial(1, second, 100)))
        ).difference
        held += difference.low <= second - first <= difference.high
    assert 0.93 < held / 1000 < 0.99


def test_of_many_tasks_the_interval_is_as_good_as_the_bootstraps() -> None:
    rng = np.random.default_rng(0)
    values = rng.exponential(size=1001)  # skewed, as numbers of turns are
    found = interval(once(list(values)), is_share=False)
    expected = scipy.stats.bootstrap((values,), np.mean, n_resamples=9999, rng=rng, batch=200).confidence_interval
    half = 1.959964 * values.std(ddof=1) / 1001**0.5
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.1 * half)


def test_equal_values_have_an_interval_of_width_0() -> None:
    found = interval(once([0.5, 0.5, 0.5]))
    assert (found.low, found.mean, found.high) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(("attempts", "reported"), [({}, "no tasks"), ({"a": [1.0], "b": []}, "'b' has no attempt")])
def test_nothing_to_average_is_refused(attempts: dict[str, list[float]], reported: str) -> None:
    with pytest.raises(CairnError, match=reported):
        interval(attempts)


@given(st.integers(1, 7), st.data())
def test_attempts_by_brute_force(attempts: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, attempts))
    k = data.draw(st.integers(1, attempts))
    outcomes = [True] * successes + [False] * (attempts - successes)
    draws = list(combinations(outcomes, k))
    assert pass_at_k(attempts, successes, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(attempts, successes, k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize("given_", [(3, 1, 4), (3, 1, 0), (3, 4, 1)])
def test_drawing_more_attempts_than_exist_raises_an_error(given_: tuple[int, int, int]) -> None:
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(CairnError, match="cannot be drawn"):
            function(*given_)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemars_test_equals_the_two_sided_binomial_test(first: int, second: int) -> None:
    total = first + second
    least = min(first, second)
    tail = sum(scipy.stats.binom.pmf(i, total, 0.5) for i in range(least + 1))
    assert mcnemar(first, second) == pytest.approx(min(1.0, 2 * tail if total else 1.0), abs=1e-9)


def test_two_agents_by_hand() -> None:
    """100 tasks, 10 solved by the first alone, 20 by the second alone: p = 0.0987 (a coin's 10 or fewer of 30, twice).

    d = 0.1, v = 0.3 - 0.01; needed (1.96 sqrt(0.3) + 0.8416 sqrt(0.29))^2 / 0.01 = 234.
    """
    first = once([1.0] * 10 + [0.0] * 20 + [1.0] * 70)
    second = once([0.0] * 10 + [1.0] * 20 + [1.0] * 70)
    found = paired(first, second)
    assert (found.only_first, found.only_second) == (10, 20)
    assert found.test == "McNemar, exact"
    assert found.p_value == pytest.approx(0.09874, abs=1e-5)
    assert found.difference.mean == pytest.approx(0.1)
    # n = 102, d = 10 / 102 = 0.09804: 1.96 sqrt((31 / 102 - 0.00961) / 102) = 0.10528
    assert (found.difference.low, found.difference.high) == pytest.approx((-0.00724, 0.20332), abs=1e-5)
    assert found.effect == pytest.approx(0.1 / (0.29 * 100 / 99) ** 0.5)
    assert found.tasks_needed == 234
    back = paired(second, first)
    assert (back.p_value, back.difference.mean, back.tasks_needed) == (found.p_value, -found.difference.mean, 234)


def test_the_reported_number_of_tasks_gives_a_power_of_80_percent() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(234, [0.1, 0.2, 0.7], size=2000)
    reported = np.mean([mcnemar(int(a), int(b)) < 0.05 for a, b, _ in counts])
    assert 0.74 < reported < 0.84  # the exact test is somewhat careful


def test_scores_are_compared_by_sign_flips() -> None:
    """Differences 1, 2, 3, 4 of distinct scores: of 16 sign patterns 2 lie as far from 0, so p is near 1/8."""
    found = paired(once([0.0, 0.5, 0.25, 1.0]), once([1.0, 2.5, 3.25, 5.0]))
    assert found.test == "sign flips by task"
    assert found.p_value == pytest.approx(1 / 8, abs=0.02)
    assert found.difference.mean == 2.5


def test_equal_agents_have_a_p_value_of_1() -> None:
    found = paired(once([1.0, 0.0, 1.0]), once([1.0, 0.0, 1.0]))
    assert (found.p_value, found.effect, found.tasks_needed) == (1.0, None, None)
    # n = 3 + 2, d = 0: 1.96 sqrt((0 + 1) / 5 / 5) = 0.392
    assert (found.difference.low, found.difference.high) == pytest.approx((-0.392, 0.392), abs=1e-4)
    again = paired({"a": [1, 0], "b": [0, 0]}, {"a": [0, 1], "b": [0, 0]})
    assert again.difference.low < 0 < again.difference.high


def test_a_significant_difference_needs_at_least_six_tasks() -> None:
    found = paired(once([0.0] * 5), once([1.0] * 5))
    assert (found.p_value, found.tasks_needed) == (2 / 2**5, 6)
    assert paired(once([0.0] * 6), once([1.0] * 6)).p_value < 0.05


def test_counts_that_equal_0_or_1_are_not_treated_as_shares() -> None:
    assert interval(once([1.0] * 8)).low < 0.7
    found = interval(once([1.0] * 8), is_share=False)
    assert (found.low, found.mean, found.high) == (1.0, 1.0, 1.0)


def test_differences_without_a_spread_have_no_size_in_standard_deviations() -> None:
    found = paired(once([1.0] * 9), once([0.0] * 9))
    assert (found.effect, found.difference.mean) == (None, -1.0)


def test_agents_on_other_tasks_are_not_compared() -> None:
    with pytest.raises(CairnError, match="1 tasks have one side alone, such as 'x' in the second"):
        paired({"a": [1.0]}, {"a": [1.0], "x": [0.0]})


@given(st.integers(1, 4), st.data())
def test_shapley_values_are_means_over_orders(count: int, data: st.DataObject) -> None:
    parts = "abcd"[:count]
    subsets = [frozenset(chosen) for size in range(count + 1) for chosen in combinations(parts, size)]
    values = {subset: data.draw(st.floats(-1, 1)) for subset in subsets}
    found = shapley(values)
    for part in parts:
        gains = [
            values[frozenset(order[: order.index(part) + 1])] - values[frozenset(order[: order.index(part)])]
            for order in permutations(parts)
        ]
        assert found[part] == pytest.approx(np.mean(gains), abs=1e-9)
    assert sum(found.values()) == pytest.approx(values[frozenset(parts)] - values[frozenset()], abs=1e-9)


def test_the_error_of_missing_values_names_the_sets_of_parts() -> None:
    with pytest.raises(CairnError, match=r"Set \['a', 'b'\] has no score; 2 parts need all 4 sets"):
        shapley({frozenset(): 0.0, frozenset("a"): 1.0, frozenset("b"): 1.0})


def test_student_s_interval_is_scipy_s() -> None:
    values = [0.5, 0.75, 0.25, 0.625]
    wanted = scipy.stats.t.interval(0.95, 3, loc=np.mean(values), scale=scipy.stats.sem(values))
    assert student(values) == pytest.approx(tuple(wanted))
    with pytest.raises(CairnError, match="at least two"):
        student([0.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.integers(1, 7))
def test_the_best_of_n_is_the_mean_over_all_draws(scores: list[float], n: int) -> None:
    if n > len(scores):
        with pytest.raises(CairnError):
            best_of_n(scores, n)
        return
    draws = [max(drawn) for drawn in combinations(scores, n)]
    assert best_of_n(scores, n) == pytest.approx(sum(draws) / len(draws))
