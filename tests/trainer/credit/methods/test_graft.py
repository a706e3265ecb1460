"""GRAFT against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.golden import e2, e2_rows, paths

# gamma 0.99: V: u 0.66, w 0.99 x 0.66 / 1.01 = 0.646931, s0 (2 x 0.6534 + 0.640461) / 3 = 0.649087
TD = e2_rows(0.004313, 0.33, -0.008626, -0.006469, 0.006469, -0.66)
# Of two episodes that meet in u, one in three steps from there fails; x and y were seen once.
MEETING = paths("x a u c +", "y b u c +", "u d -")


@pytest.mark.parametrize("success", [1.0, 10.0])
def test_the_golden_table(success: float) -> None:
    np.testing.assert_allclose(advantages(e2(success), "graft", normalize="none"), TD, atol=1e-5)


@pytest.mark.parametrize("lam", [0.0, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("table", [e2(), MEETING, paths("s a s b s c u a +", "s a u b s c -", "u a u b -")])
def test_graph_gae_on_raw_edges_is_the_temporal_difference(table: StepTable, lam: float) -> None:
    found = advantages(table, "graft", lam=lam, edges="raw", normalize="none")
    np.testing.assert_allclose(found, advantages(table, "graft", lam=0.0, normalize="none"), atol=1e-9)


def test_graph_gae_on_distinct_edges_looks_ahead() -> None:
    # rate 0.99 x 0.95 = 0.9405. Ahead of u: c 0.33 and e -0.66, mean -0.165, once: 0.9405 x -0.165 = -0.155183 = G(u).
    # Ahead of w: n and d, mean 0, then half G(w), half G(u): G(w) = 0.47025 G(u) / (1 - 0.47025) = -0.137753
    # a: TD + G(u); b, n: TD + G(w); d: TD + G(u); c, e: nothing is ahead
    expected = e2_rows(-0.150870, 0.33, -0.146379, -0.144222, -0.148713, -0.66)
    np.testing.assert_allclose(advantages(e2(), "graft", lam=0.95, normalize="none"), expected, atol=2e-6)


def test_an_action_with_two_outcomes_has_two_edges() -> None:
    # V(u) = 0.66. Edges ahead of x: c to success (taken twice), c to failure: TD 0.33, -0.66, mean -0.165, x 0.99
    found = advantages(paths("x a u c +", "u c +", "u c -"), "graft", lam=1.0, normalize="none")
    np.testing.assert_allclose(found, [-0.16335, 0.33, 0.33, -0.66], atol=1e-12)


def test_credits_are_compared_within_the_state() -> None:
    # s0: x, -2x, x with x = 0.004313, std 1.732051 x; u: 0.33, -0.66; w: +-0.006469, std 0.009149; epsilon 1e-6 counts
    expected = e2_rows(0.577273, 0.577349, -1.154546, -0.707030, 0.707030, -1.154698)
    np.testing.assert_allclose(advantages(e2(), "graft"), expected, atol=2e-6)


def test_the_comparison_may_be_without_division() -> None:
    # lambda 0.95, at w: -0.144222 and -0.148713, mean -0.146468
    found = advantages(e2(), "graft", lam=0.95, normalize="centre")
    np.testing.assert_allclose(found[3:5], [0.002246, -0.002246], atol=2e-6)


@pytest.mark.parametrize(("singleton", "rows"), [("sign", [-1, -1]), ("zero", [0, 0])])
@pytest.mark.parametrize("normalize", ["std", "centre"])
def test_a_step_alone_at_its_state_has_the_sign_of_its_credit_or_nothing(
    singleton: str, rows: list[float], normalize: str
) -> None:
    # V(u) = 0.66; ahead of x and y: c 0.33 and d -0.66, once each: mean -0.165
    found = advantages(MEETING, "graft", lam=0.95, singleton=singleton, normalize=normalize)
    np.testing.assert_array_equal(found[[0, 2]], rows)


def test_states_of_equal_value_are_equal_despite_rounding() -> None:
    # From s to p, which succeeds once in four, and to q, three times in twelve: the sums round differently
    table = paths(*(f"s a p c {end}" for end in "+---"), *(f"s b q c {end}" for end in "+++---------"))
    np.testing.assert_array_equal(advantages(table, "graft")[::2], np.zeros(16))


def test_rounding_errors_have_no_sign() -> None:
    # Without lambda a step alone at its state has credit 0 but for rounding
    np.testing.assert_array_equal(advantages(MEETING, "graft")[[0, 2]], [0, 0])
    np.testing.assert_array_equal(advantages(paths("s a u b v c w d x e +"), "graft", lam=0.9), np.zeros(5))


def test_gamma_is_the_discount_of_a_step() -> None:
    # V: u 1/3, w 1/9, s0 7/54: a 1/6 - 7/54, b 1/18 - 7/54
    found = advantages(e2(), "graft", gamma=0.5, normalize="none")
    np.testing.assert_allclose(found, e2_rows(1 / 27, 1 / 6, -2 / 27, -1 / 18, 1 / 18, -1 / 3), atol=1e-11)


@pytest.mark.parametrize(
    ("timeout", "rows"),
    [
        ("failure", [0.49005, 0, -0.49005]),  # V(u) = 0.99, V(s) = 0.9801 / 2
        ("open", [0, 0, 0]),  # a and b lead to u
    ],
)
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    found = advantages(paths("s a u c +", "s b u"), "graft", normalize="none", timeout=timeout)
    np.testing.assert_allclose(found, rows, atol=1e-11)


def test_the_value_of_a_loop_that_no_step_left_is_0() -> None:
    # v leads back to v until the budget is out: V(v) = 0; V(s) = 0.99 / 2
    found = advantages(paths("s a v b v", "s c +"), "graft", normalize="none", timeout="open")
    np.testing.assert_allclose(found, [-0.495, 0, 0.495], atol=1e-12)


def test_a_success_cut_by_a_budget_is_a_success() -> None:
    cut = paths("s a u", "s b -", "u c +")
    table = replace(cut, success=cut.truncated | cut.success)
    found = advantages(table, "graft", normalize="none", timeout="open", singleton="zero")
    np.testing.assert_allclose(found[:2], [0.495, -0.495], atol=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.95])
def test_without_a_success_all_advantages_are_0(lam: float) -> None:
    found = advantages(paths("s a u c -", "s b u e -", "v a u c -"), "graft", lam=lam)
    np.testing.assert_array_equal(found, np.zeros(6))


def test_states_seen_once_and_equal_credits_give_nothing() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 0, 1), "graft"), np.zeros(3))
    np.testing.assert_array_equal(advantages(paths("s a u b +", "s a u b +"), "graft"), np.zeros(4))
