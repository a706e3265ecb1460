"""CRBC against numbers worked out by hand, and its kin: GiGPO's returns at depth 0, closure without its priors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import means, segments
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.golden import e2, e2_rows, paths


def step_term(table: StepTable, **settings: Any) -> Floats:
    return advantages(table, "crbc", **{"episode_weight": 0.0, "step_weight": 1.0, **settings})


def wander(seed: int) -> StepTable:
    """Return twelve episodes of two tasks over five states with three actions, solved or not by chance."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, 12)
    walks = [" ".join(f"{rng.choice(list('pqrst'))} {rng.choice(list('abc'))}" for _ in range(n)) for n in lengths]
    return paths(*(f"{walk} {rng.choice(['+', '-'])}" for walk in walks), groups=[0] * 6 + [1] * 6)


@pytest.mark.parametrize("success", [1.0, 10.0])
def test_the_golden_table(success: float) -> None:
    # beta 0.98: V: u 0.653333, w 0.98 x 0.653333 / 1.02 = 0.627712, s0 (2 x 0.640267 + 0.615158) / 3 = 0.631897
    # Q: a 0.640267, b 0.615158; c 0.98, e 0; n 0.615158, d 0.640267
    expected = e2_rows(0.008369, 0.326667, -0.016739, -0.012554, 0.012554, -0.653333)
    np.testing.assert_allclose(step_term(e2(success), normalize="none"), expected, atol=1e-5)


def test_the_golden_table_divided() -> None:
    # sigma: s0 0.011836 and w 0.012554, below the floor of 0.1; u sqrt((2 x 0.326667^2 + 0.653333^2) / 3) = 0.461976
    expected = e2_rows(0.083695, 0.707107, -0.167390, -0.125542, 0.125542, -1.414214)
    np.testing.assert_allclose(step_term(e2()), expected, atol=1e-5)


def test_the_golden_table_of_closure_with_pseudo_counts() -> None:
    # pseudo-visits 0.5: between CRBC's Q - V and nothing
    found = advantages(e2(), "closure", gamma=0.98, prior_visits=0.5, prior_actions=0.5, prior_pool=None)
    expected = e2_rows(0.004456, 0.262827, -0.009894, -0.008409, 0.005199, -0.434311)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("table", [e2(), wander(1), wander(2)])
def test_closure_without_its_priors_is_q_minus_v(table: StepTable) -> None:
    found = advantages(
        table, "closure", gamma=0.98, prior_visits=0.0, prior_actions=0.0, prior_pool=None, timeout="failure"
    )
    np.testing.assert_allclose(found, step_term(table, normalize="none"), atol=1e-12)


def test_the_default_weights_are_1_and_5() -> None:
    # GRPO: 0.577349 and -1.154699; plus 5 times the golden rows
    expected = e2_rows(0.995826, 4.112883, -1.991650, -1.782410, -0.526988, -8.225767)
    np.testing.assert_allclose(advantages(e2(), "crbc"), expected, atol=1e-5)
    found = advantages(e2(), "crbc", step_weight=0.0, episode_weight=2.0)
    np.testing.assert_allclose(found, e2_rows(*[1.154699] * 2, *[-2.309397] * 4), atol=1e-5)


def test_the_floor_is_the_least_divisor() -> None:
    # u: sigma 0.461880 is below 0.5: 0.326667 / 0.5
    np.testing.assert_allclose(step_term(e2(), floor=0.5)[[1, 5]], [0.653333, -1.306667], atol=1e-5)
    np.testing.assert_allclose(step_term(e2(), floor=0.001)[[3, 4]], [-1, 1], atol=1e-9)


@pytest.mark.parametrize("table", [e2(), wander(1), wander(2)])
def test_depth_0_compares_the_mean_returns_of_actions(table: StepTable) -> None:
    to_go = 0.98 * returns(table, table.reward, 0.98)
    state = segments(table.group, table.anchor)
    pair = segments(state, table.action)
    expected = means(to_go, pair)[pair] - means(to_go, state)[state]
    np.testing.assert_allclose(step_term(table, depth=0, normalize="none"), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("depth", "rows"),
    [
        # Outcomes: a 0.9604, c 0.98, all of episode 2 zero
        (0, [0.320133, 0.326667, -0.640267, 0, 0, -0.653333]),
        # From V: u 0.653333, w 0, s0 0.640267. Q: a 0.640267, b 0; n 0, d 0.640267
        (1, [0.213422, 0.326667, -0.426844, -0.320133, 0.320133, -0.653333]),
        # From V: u 0.653333, w 0.320133. Q: a 0.640267, b 0.313731; n 0.313731, d 0.640267
        (2, [0.108845, 0.326667, -0.217690, -0.163268, 0.163268, -0.653333]),
    ],
)
def test_each_backup_passes_values_one_step_back(depth: int, rows: list[float]) -> None:
    np.testing.assert_allclose(step_term(e2(), depth=depth, normalize="none"), e2_rows(*rows), atol=2e-6)


@pytest.mark.parametrize("table", [e2(), wander(1), wander(2)])
def test_many_backups_are_the_solution(table: StepTable) -> None:
    np.testing.assert_allclose(step_term(table, depth=2000), step_term(table), atol=1e-9)


@pytest.mark.parametrize("depth", [None, 0, 1, 3])
@pytest.mark.parametrize("normalize", ["none", "floor"])
def test_the_credits_of_a_states_steps_sum_to_zero(depth: int | None, normalize: str) -> None:
    table = wander(3)
    credit = step_term(table, depth=depth, normalize=normalize)
    assert np.abs(credit).max() > 0.1
    np.testing.assert_allclose(np.bincount(segments(table.group, table.anchor), credit), 0.0, atol=1e-12)


@pytest.mark.parametrize("depth", [None, 0, 1])
def test_a_state_with_one_action_has_no_step_term(depth: int | None) -> None:
    np.testing.assert_array_equal(step_term(paths("s a +", "s a -", "s a -"), depth=depth), np.zeros(3))


def test_the_value_of_an_action_with_several_outcomes_is_their_mean() -> None:
    # Q(a) = 0.98 / 2, Q(b) = 0, V = 0.98 / 3
    found = step_term(paths("s a +", "s a -", "s b -"), normalize="none")
    np.testing.assert_allclose(found, [0.163333, 0.163333, -0.326667], atol=1e-6)


@pytest.mark.parametrize(("timeout", "rows"), [("failure", [0.4802, 0, -0.4802]), ("open", [0, 0, 0])])
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    # V(u) = 0.98: a is worth 0.9604; b nothing, or as much
    found = step_term(paths("s a u c +", "s b u"), timeout=timeout, normalize="none")
    np.testing.assert_allclose(found, rows, atol=1e-12)


def test_a_success_cut_by_a_budget_is_a_success() -> None:
    cut = paths("s a u", "s b -", "u c +")
    found = step_term(replace(cut, success=cut.truncated | cut.success), normalize="none", timeout="open")
    np.testing.assert_allclose(found, [0.49, -0.49, 0], atol=1e-12)


def test_without_discount_a_delay_costs_nothing() -> None:
    expected = e2_rows(0, 1 / 3, 0, 0, 0, -2 / 3)  # V: u, w and s0 2/3
    np.testing.assert_allclose(step_term(e2(), beta=1.0, normalize="none"), expected, atol=1e-12)


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b u e -"), "crbc"), np.zeros(4))


def test_states_seen_once_have_no_step_term_and_a_lone_episode_no_episode_term() -> None:
    np.testing.assert_array_equal(step_term(outcomes(1, 0)), np.zeros(2))
    np.testing.assert_array_equal(advantages(paths("s a u b +"), "crbc"), np.zeros(2))
