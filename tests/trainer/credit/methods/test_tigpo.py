"""TIGPO on one table: numbers worked out by hand, and properties shared with GraphGPO."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.golden import e2, e2_rows, paths


@pytest.mark.parametrize("w", [0.1, 0.2])
def test_without_earlier_visits_the_step_term_is_graphgpos(w: float) -> None:
    # Steps lead to: a 1, b 2; c 0, e nowhere; n 2, d 1: two distances at each state, so w cancels.
    found = advantages(e2(), "tigpo", episode_weight=0.0, w=w)
    np.testing.assert_allclose(found, e2_rows(0.577349, 0.577350, -1.1547, -0.707106, 0.707106, -1.1547), atol=1e-5)
    three = paths("s a +", "s b x c +", "s d -")
    np.testing.assert_allclose(
        advantages(three, "tigpo", episode_weight=0.0, w=w),
        advantages(three, "graphgpo", episode_weight=0.0, w=w),
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("scale", "w", "rows"), [(10, 0.1, [6.3, -2.7, 0, -3.6]), (1, 0.5, [5 / 12, -1 / 12, 0, -1 / 3])]
)
def test_the_value_of_a_step_is_scale_times_w_to_the_distance(scale: float, w: float, rows: list[float]) -> None:
    # From s: a succeeds (0), b leads to x (1), d fails (2): 10, 1, 0.1, mean 3.7; and 1, 0.5, 0.25, mean 7/12
    found = advantages(
        paths("s a +", "s b x c +", "s d -"), "tigpo", episode_weight=0.0, normalize="none", scale=scale, w=w
    )
    np.testing.assert_allclose(found, rows, atol=1e-12)


def test_the_episode_term_counts_each_episode_once() -> None:
    # scores 1, 0, 1: mean 2/3, std (ddof 1) 0.577350
    found = advantages(e2(), "tigpo", step_weight=0.0)
    np.testing.assert_allclose(found, e2_rows(*[0.577349] * 2, *[-1.154699] * 4), atol=1e-5)
    found = advantages(e2(), "tigpo", step_weight=0.0, normalize="none")
    np.testing.assert_allclose(found, e2_rows(*[1 / 3] * 2, *[-2 / 3] * 4), atol=1e-12)


def test_the_terms_add_up_with_their_weights() -> None:
    # 2 x 0.577349 + 3 x 0.577349, and at w -+ 2 x 0.707106 - 3 x 1.154699
    found = advantages(e2(), "tigpo", step_weight=2.0, episode_weight=3.0)
    np.testing.assert_allclose(found[[0, 3, 4]], [2.886745, -4.878309, -2.049885], atol=1e-5)


@pytest.mark.parametrize(("timeout", "rows"), [("open", [0, 0, 0]), ("failure", [0.495, 0, -0.495])])
def test_a_timeout_leads_to_the_state_that_it_stopped_in_or_to_failure(timeout: str, rows: list[float]) -> None:
    # a leads to u: 10 x 0.1. b: also to u, or to failure, 3 away: 0.01.
    table = paths("s a u c +", "s b u")
    found = advantages(table, "tigpo", episode_weight=0.0, normalize="none", timeout=timeout)
    np.testing.assert_allclose(found, rows, atol=1e-12)


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b u e -"), "tigpo"), np.zeros(4))


def test_successes_are_those_of_the_table_regardless_of_rewards() -> None:
    # From s one step succeeds and one fails, 2 away: +-0.707106; there is no difference between the scores, both 0.
    table = paths("s a +", "s b -", success=0.0)
    np.testing.assert_allclose(advantages(table, "tigpo"), [0.707106, -0.707106], atol=1e-5)
    failed = replace(table, success=np.zeros(2, np.bool_))
    np.testing.assert_array_equal(advantages(failed, "tigpo"), np.zeros(2))


def test_states_seen_once_have_no_step_term_and_a_lone_episode_no_episode_term() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 0), "tigpo", episode_weight=0.0), np.zeros(2))
    np.testing.assert_array_equal(advantages(paths("s a u b +"), "tigpo"), np.zeros(2))


def with_past(*past: int) -> StepTable:
    """Return an old success from s by a, and two present episodes: s a u e, s b v e, neither solved."""
    made = paths("s a u c +", "s a u e -", "s b v e -")
    return replace(made, past=np.isin(made.episode, past))


def test_a_success_of_an_earlier_visit_shows_present_steps_the_way() -> None:
    # d after: a 1; e and b and v nowhere: 3. Present steps at s: 10 w, 10 w^3: +-0.707106; the others have no peers.
    # scores 1, 0, 0: mean 1/3, std 0.577350: -0.577350 for both present ones
    found = advantages(with_past(0), "tigpo")
    np.testing.assert_allclose(found, [0, 0, 0.129756, -0.577349, -1.284455, -0.577349], atol=1e-5)


def test_without_the_past_nothing_is_known() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u e -", "s b v e -"), "tigpo"), np.zeros(4))


def test_earlier_steps_do_not_enter_the_present_mean() -> None:
    found = advantages(with_past(0), "tigpo", episode_weight=0.0, normalize="none")
    np.testing.assert_allclose(found, [0, 0, 0.495, 0, -0.495, 0], atol=1e-12)  # (1 - 0.01) / 2


def test_methods_that_would_take_earlier_episodes_for_present_ones_refuse() -> None:
    with pytest.raises(CairnError, match="'grpo' compares all rows; leave `past` out, or use one of: tigpo"):
        advantages(with_past(0), "grpo")
