"""GraphGPO against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from cairn.trainer.credit.kernel.graph import build_graph
from cairn.trainer.credit.methods.graphgpo import hops
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.golden import e2, e2_rows, paths


def step_term(table: StepTable, **settings: Any) -> Floats:
    return advantages(table, "graphgpo", episode_weight=0.0, **settings)


@pytest.mark.parametrize("w", [0.1, 0.2, 0.8])
@pytest.mark.parametrize("success", [1.0, 10.0, 0.0])
def test_the_golden_table_for_every_w_and_every_reward_of_a_success(w: float, success: float) -> None:
    # d: u 1, w 2, s0 2. Steps lead to: a 1, b 2; c 0, e nowhere; n 2, d 1: two distances at each state, so w cancels.
    expected = e2_rows(0.577349, 0.577350, -1.1547, -0.707106, 0.707106, -1.154700)
    np.testing.assert_allclose(step_term(e2(success), w=w), expected, atol=1e-5)


def test_distances_before_and_after_each_step() -> None:
    # The largest finite distance is 2, so failure is 3 steps away.
    before, after = hops(build_graph(e2(), e2().anchor))
    np.testing.assert_array_equal(before, e2_rows(2, 1, 2, 2, 2, 1))
    np.testing.assert_array_equal(after, e2_rows(1, 0, 2, 2, 1, 3))


@pytest.mark.parametrize(
    ("w", "rows"),
    [
        (0.1, [6.3, -2.7, 0, -3.6]),  # 10, 1, 0.1: mean 3.7
        (0.5, [4.166667, -0.833333, 0, -3.333333]),  # 10, 5, 2.5: mean 5.833333
    ],
)
def test_w_matters_with_three_distances_at_a_state(w: float, rows: list[float]) -> None:
    # From s: a succeeds (0), b leads to x (1), d fails (2: the largest finite distance is 1)
    found = step_term(paths("s a +", "s b x c +", "s d -"), w=w, normalize="none")
    np.testing.assert_allclose(found, rows, atol=1e-6)


def test_the_scale_is_the_reward_of_success() -> None:
    found = step_term(paths("s a +", "s b x c +", "s d -"), scale=1.0, normalize="none")
    np.testing.assert_allclose(found, [0.63, -0.27, 0, -0.36], atol=1e-12)


def test_relative_distances_change_only_the_scale_of_a_state() -> None:
    # s0 is 2 away: a 10 w^(1 - 2 + 1) = 10, b 10 w = 1; u is 1 away: c 10, e 10 w^3; w is 2 away: n 1, d 10
    found = step_term(e2(), relative_distance=True, normalize="none")
    np.testing.assert_allclose(found, e2_rows(3, 3.33, -6, -4.5, 4.5, -6.66), atol=1e-12)
    absolute = step_term(e2(), normalize="none")
    np.testing.assert_allclose(absolute, e2_rows(0.3, 3.33, -0.6, -0.45, 0.45, -6.66), atol=1e-12)
    np.testing.assert_allclose(step_term(e2(), relative_distance=True), step_term(e2()), atol=1e-5)


def test_without_a_success_all_advantages_are_0() -> None:
    found = advantages(paths("s0 a u c -", "s0 b u e -", "s0 a u c ?"), "graphgpo")
    np.testing.assert_array_equal(found, np.zeros(6))


def test_where_all_succeed_the_nearer_wins() -> None:
    # 10 and 1: mean 5.5, std 6.363961
    found = advantages(paths("s a +", "s b x c +"), "graphgpo")
    np.testing.assert_allclose(found, [0.707107, -0.707107, 0], atol=1e-5)


@pytest.mark.parametrize(("timeout", "rows"), [("open", [0, 0, 0]), ("failure", [0.495, 0, -0.495])])
def test_a_timeout_leads_to_the_state_that_it_stopped_in_or_to_failure(timeout: str, rows: list[float]) -> None:
    # d: s 2, u 1. a leads to u: 10 x 0.1. b: also to u, or to failure, 3 away: 0.01.
    found = step_term(paths("s a u c +", "s b u"), timeout=timeout, normalize="none")
    np.testing.assert_allclose(found, rows, atol=1e-12)


def test_a_timeout_in_an_unrecorded_state_is_as_far_as_failure() -> None:
    found = step_term(paths("s a u c +", "s b ?"), normalize="none")
    np.testing.assert_allclose(found, [0.495, 0, -0.495], atol=1e-12)


def test_a_success_cut_by_a_budget_is_a_success() -> None:
    cut = paths("s a u", "s b -", "u c +")
    found = step_term(replace(cut, success=cut.truncated | cut.success), normalize="none")
    np.testing.assert_allclose(found, [4.95, -4.95, 0], atol=1e-12)  # 10 x 0.1^0, 10 x 0.1^2


def test_each_task_has_its_own_distances() -> None:
    # In the second task nothing is known of the success in the first. In the third a failure is 2 away, not 3.
    episodes = ["s a u c +", "s b -", "s a u c -", "s b -", "s a +", "s b -"]
    found = step_term(paths(*episodes, groups=[0, 0, 1, 1, 2, 2]), normalize="none")
    np.testing.assert_allclose(found, [0.495, 0, -0.495, 0, 0, 0, 4.95, -4.95], atol=1e-12)


def test_a_loop_costs_nothing_but_the_steps_that_it_takes() -> None:
    # v and back: d(s) = 1; b leads to v, 2 away. c at v leads to s, 1 away; alone there: 0.
    found = step_term(paths("s b v c s a +"), normalize="none")
    np.testing.assert_allclose(found, [-4.95, 0, 4.95], atol=1e-12)


@pytest.mark.parametrize(
    ("averaging", "normalize", "rows"),
    [
        # four of the eight steps are of solved episodes: mean 0.5, std (ddof 1) 0.534522
        ("step", "std", [0.935413, -0.935413]),
        ("step", "none", [0.5, -0.5]),
        # two of the three episodes are solved: mean 2/3, std 0.577350
        ("episode", "std", [0.577349, -1.154699]),
        ("episode", "none", [1 / 3, -2 / 3]),
    ],
)
def test_the_episode_term_is_gigpos(averaging: str, normalize: str, rows: list[float]) -> None:
    found = advantages(e2(), "graphgpo", step_weight=0.0, averaging=averaging, normalize=normalize)
    np.testing.assert_allclose(found, e2_rows(*[rows[0]] * 2, *[rows[1]] * 4), atol=1e-5)


def test_the_episode_term_penalizes_an_invalid_reply() -> None:
    # scores 1, 0, 0 - 0.4: mean of the steps 0.2
    table = replace(paths("s a +", "s b -", "s d -"), valid=np.array([True, True, False]))
    found = advantages(table, "graphgpo", step_weight=0.0, normalize="none", invalid_penalty=0.4)
    np.testing.assert_allclose(found, [0.8, -0.2, -0.6], atol=1e-12)


def test_the_terms_add_up_with_their_weights() -> None:
    whole = advantages(e2(), "graphgpo", step_weight=2.0, episode_weight=3.0)
    parts = 2 * step_term(e2()) + 3 * advantages(e2(), "graphgpo", step_weight=0.0)
    np.testing.assert_allclose(whole, parts, atol=1e-12)


def test_a_state_seen_once_has_no_step_term() -> None:
    np.testing.assert_array_equal(step_term(outcomes(1, 0, 1)), np.zeros(3))
