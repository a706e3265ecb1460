"""The comparison within segments: every baseline and every scale by hand, and its degenerate cases."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit.kernel.segments import Baseline, Scale, centered, lower_median, means, segments

# Two segments, their members interleaved: 0 holds 1, 2, 6; 1 holds 10, 20; and segment 2 holds 5 alone.
X = np.array([1.0, 10.0, 2.0, 20.0, 6.0, 5.0])
SEGMENT = np.array([0, 1, 0, 1, 0, 2])


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("mean", [-2, -5, -1, 5, 3, 0]),  # means 3 and 15
        ("loo", [-3, -10, -1.5, 10, 4.5, 0]),  # means of the others: 4, 3.5, 1.5; 20, 10
        ("median", [-1, 0, 0, 10, 4, 0]),  # 2, and of two the lower: 10
        ("zero", [1, 10, 2, 20, 6, 5]),
    ],
)
def test_baselines(baseline: Baseline, expected: list[float]) -> None:
    np.testing.assert_allclose(centered(X, SEGMENT, baseline=baseline), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("scale", "divisors"),
    [
        ("none", [1, 1, 1]),
        # variances (4 + 1 + 9) / 2 = 7 and (25 + 25) / 1 = 50; of one member 0
        ("std", [2.645751 + 0.5, 7.071068 + 0.5, 0.5]),
        ("floor", [4, 7.071068, 4]),
        # median of 2, 1, 3 and of 5, 5; of one member 0
        ("mad", [2 + 0.5, 5 + 0.5, 0.5]),
        # all six: mean 7.333333, squared distances sum to 243.333333, / 5 = 48.666667
        ("batch", [6.976150 + 0.5] * 3),
    ],
)
def test_scales(scale: Scale, divisors: list[float]) -> None:
    found = centered(X, SEGMENT, scale=scale, epsilon=0.5, floor=4.0)
    expected = np.array([-2, -5, -1, 5, 3, 0]) / np.array(divisors)[SEGMENT]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(("ddof", "std"), [(0, [2.160247, 5.0]), (1, [2.645751, 7.071068])])
def test_ddof_is_taken_off_the_number_of_members(ddof: int, std: list[float]) -> None:
    # 14 / 3 and 50 / 2, or 14 / 2 and 50 / 1
    found = centered(X[:5], SEGMENT[:5], scale="std", ddof=ddof, epsilon=1e-12)
    np.testing.assert_allclose(found, np.array([-2, -5, -1, 5, 3]) / np.array(std)[SEGMENT[:5]], atol=1e-6)


def test_the_deviation_is_about_the_mean_for_every_baseline() -> None:
    # the mean of 1, 2, 6 is 3, its std (ddof 0) 2.160247; the baseline is the median, 2
    found = centered(X[[0, 2, 4]], np.zeros(3, np.int64), baseline="median", scale="std", ddof=0, epsilon=1e-12)
    np.testing.assert_allclose(found, [-0.462910, 0, 1.851640], atol=1e-6)


def test_the_median_deviation_is_about_the_baseline() -> None:
    # about the median 2: 1, 0, 4: their median is 1
    found = centered(X[[0, 2, 4]], np.zeros(3, np.int64), baseline="median", scale="mad", epsilon=1e-12)
    np.testing.assert_allclose(found, [-1, 0, 4], atol=1e-9)


def test_weights_select_the_members_of_the_baseline_and_all_rows_are_centred() -> None:
    # 1 and 6 count: mean 3.5, variance (6.25 + 6.25) / 1, std 3.535534
    weight = np.array([1.0, 0.0, 1.0])
    found = centered(X[[0, 2, 4]], np.zeros(3, np.int64), weight=weight)
    np.testing.assert_allclose(found, [-2.5, -1.5, 2.5], atol=1e-12)
    found = centered(X[[0, 2, 4]], np.zeros(3, np.int64), weight=weight, scale="std", epsilon=1e-12)
    np.testing.assert_allclose(found, [-0.707107, -0.424264, 0.707107], atol=1e-6)


def test_a_member_that_does_not_count_leaves_nothing_out_of_its_own_baseline() -> None:
    # 1 and 6 count: the others' mean is 6 for the first, 1 for the last, 3.5 for the one between
    found = centered(X[[0, 2, 4]], np.zeros(3, np.int64), baseline="loo", weight=np.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(found, [-5, -1.5, 5], atol=1e-12)


def test_a_virtual_member_enters_mean_and_deviation() -> None:
    # 0: 1, 2, 6 and 3: mean 3, variance 14 / 3. 1: 10, 20 and 3: mean 11, variance (1 + 81 + 64) / 2 = 73. 2: alone.
    np.testing.assert_allclose(centered(X, SEGMENT, virtual=3.0), [-2, -1, -1, 9, 3, 0], atol=1e-12)
    found = centered(X, SEGMENT, virtual=3.0, scale="std", epsilon=1e-12)
    expected = [-0.925820, -0.117041, -0.462910, 1.053370, 1.388730, 0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("baseline", ["mean", "loo", "median"])
@pytest.mark.parametrize("scale", ["none", "std", "floor", "mad", "batch"])
def test_a_segment_of_one_gives_zero(baseline: Baseline, scale: Scale) -> None:
    found = centered(np.array([7.0]), np.zeros(1, np.int64), baseline=baseline, scale=scale, floor=0.1)
    np.testing.assert_array_equal(found, [0.0])


@pytest.mark.parametrize("baseline", ["mean", "loo", "median"])
@pytest.mark.parametrize("scale", ["none", "std", "floor", "mad", "batch"])
def test_equal_values_give_exactly_zero(baseline: Baseline, scale: Scale) -> None:
    # the sum of three times 0.1 is not 0.3
    found = centered(np.full(3, 0.1), np.zeros(3, np.int64), baseline=baseline, scale=scale, floor=0.1)
    np.testing.assert_array_equal(found, np.zeros(3))


def test_near_values_keep_their_digits() -> None:
    x = 1e9 + np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(centered(x, np.zeros(3, np.int64), scale="std", epsilon=1e-12), [-1, 0, 1], atol=1e-6)


def test_means_of_segments() -> None:
    np.testing.assert_allclose(means(X, SEGMENT), [3, 15, 5], atol=1e-12)
    assert means(np.full(3, 0.1), np.zeros(3, np.int64))[0] == 0.1


def test_lower_medians_of_segments() -> None:
    # 6, 1, 2 -> 2; 20, 10 -> 10; 4, 3, 2, 1 -> 2
    x = np.array([6.0, 20.0, 1.0, 10.0, 2.0, 4.0, 3.0, 2.0, 1.0])
    np.testing.assert_array_equal(lower_median(x, np.array([0, 1, 0, 1, 0, 2, 2, 2, 2])), [2, 10, 2])


def test_a_segment_is_a_key_within_its_group() -> None:
    group = np.array([1, 0, 1, 0, 1])
    key = np.array([9, 9, 2**64 - 1, 9, 9], np.uint64)
    # in the order of group and key: (0, 9), (1, 9), (1, greatest)
    np.testing.assert_array_equal(segments(group, key), [1, 0, 2, 0, 1])


def test_no_rows_have_no_segments() -> None:
    assert len(segments(np.zeros(0, np.int64), np.zeros(0, np.uint64))) == 0
