"""GraphHCA against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.golden import e2, e2_rows, paths


def step_term(table: StepTable, **settings: Any) -> Floats:
    return advantages(table, "graph_hca", episode_weight=0.0, **settings)


@pytest.mark.parametrize("success", [1.0, 10.0])
def test_the_golden_table(success: float) -> None:
    expected = e2_rows(0.707107, 0.707107, -1.414214, -1, 1, -1.414214)
    np.testing.assert_allclose(step_term(e2(success)), expected, atol=1e-5)


# gamma 0.95: V: u 0.633333, w 0.95 x 0.633333 / 1.05 = 0.573016, s0 (2 x 0.601667 + 0.544365) / 3 = 0.582566
# log: u -0.456758, w -0.556842, s0 -0.540313; success 0; failure log 0.01 = -4.605170
GAIN = e2_rows(0.083554, 0.456758, -0.016529, 0, 0.100083, -4.148412)


def test_a_step_gains_the_logarithm_of_the_values() -> None:
    np.testing.assert_allclose(step_term(e2(), normalize="none"), GAIN, atol=2e-6)


def test_the_floor_is_the_least_value() -> None:
    # log 0.1 - log 0.633333
    assert step_term(e2(), normalize="none", floor=0.1)[5] == pytest.approx(-1.845827, abs=1e-6)
    # with a floor of 0.6, w and s0 are worth 0.6 too: log 0.633333 - log 0.6
    found = step_term(e2(), normalize="none", floor=0.6)
    np.testing.assert_allclose(found[[0, 2, 3, 4]], [0.054067, 0, 0, 0.054067], atol=1e-6)


def test_gains_are_compared_within_the_state() -> None:
    # s0: mean 0.050193; u: mean (2 x 0.456758 - 4.148412) / 3 = -1.078299; w: mean 0.050042
    expected = e2_rows(0.033361, 1.535057, -0.066722, -0.050042, 0.050042, -3.070113)
    np.testing.assert_allclose(step_term(e2(), normalize="centre"), expected, atol=2e-6)


def test_gamma_is_the_discount_of_a_step() -> None:
    # V: u 1/3, w 1/9, s0 7/54: a log (18/7), b log (6/7)
    found = step_term(e2(), normalize="none", gamma=0.5)
    np.testing.assert_allclose(found[[0, 2, 4]], [0.944462, -0.154151, 1.098612], atol=1e-6)


@pytest.mark.parametrize(("timeout", "rows"), [("failure", [1, 0, -1]), ("open", [0, 0, 0])])
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    np.testing.assert_allclose(step_term(paths("s a u c +", "s b u"), timeout=timeout), rows, atol=1e-7)


def test_a_success_cut_by_a_budget_is_a_success() -> None:
    # V(s) = 0.475 for every V(u): log 1 - log 0.475, log 0.01 - log 0.475
    cut = paths("s a u", "s b -", "u c +")
    found = step_term(replace(cut, success=cut.truncated | cut.success), normalize="none", timeout="open")
    np.testing.assert_allclose(found[:2], [0.744440, -3.860730], atol=1e-6)


def test_the_episode_term_is_grpos_and_has_its_weight() -> None:
    found = advantages(e2(), "graph_hca", step_weight=0.0, episode_weight=2.0)
    np.testing.assert_allclose(found, e2_rows(*[1.154699] * 2, *[-2.309397] * 4), atol=1e-5)
    found = advantages(e2(), "graph_hca", step_weight=2.0)
    np.testing.assert_allclose(found[3:5], [-2 - 1.154699, 2 - 1.154699], atol=1e-5)


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b v e -"), "graph_hca"), np.zeros(4))


def test_states_of_equal_value_are_equal_despite_rounding() -> None:
    # From s to p, which succeeds once in four, and to q, three times in twelve: the sums round differently
    table = paths(*(f"s a p c {end}" for end in "+---"), *(f"s b q c {end}" for end in "+++---------"))
    np.testing.assert_array_equal(step_term(table)[::2], np.zeros(16))


def test_states_seen_once_have_no_step_term_and_a_lone_episode_no_episode_term() -> None:
    np.testing.assert_array_equal(step_term(outcomes(1, 0)), np.zeros(2))
    np.testing.assert_array_equal(advantages(paths("s a u b +"), "graph_hca"), np.zeros(2))
