"""RewardFlow against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from cairn.trainer.credit.kernel.graph import build_graph
from cairn.trainer.credit.kernel.values import best_reachable, distances
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.columns import table as steps
from tests.trainer.credit.golden import e2, e2_rows, paths


def step_term(table: StepTable, **settings: Any) -> Floats:
    return advantages(table, "rewardflow", episode_weight=0.0, **settings)


@pytest.mark.parametrize("success", [1.0, 10.0])
def test_the_golden_table_in_units_of_the_successes_reward(success: float) -> None:
    # V: u 0.9, w 0.81, s0 0.81. s0: gains 0.09, 0, 0.09, mean 0.06; u: 0.1, -0.9, 0.1, mean -0.233333; w: 0, 0.09
    expected = success * np.array(e2_rows(0.03, 0.333333, -0.06, -0.045, 0.045, -0.666667))
    np.testing.assert_allclose(step_term(e2(success)), expected, atol=1e-5)


@pytest.mark.parametrize("table", [e2(), paths("a x b x c x d x +", "c y a y -", "e x e x e y b x -", "f x -")])
def test_the_value_is_gamma_to_the_distance(table: StepTable) -> None:
    graph = build_graph(table, table.anchor)
    expected = np.append(0.9 ** distances(graph)[:-1], 0.0)  # 0.9 to the infinite is 0
    np.testing.assert_allclose(best_reachable(table, graph, 0.9), expected, atol=1e-12)


def test_the_best_outcome_flows_back_not_the_mean() -> None:
    # V: u 0.9, of one success in two; v 0; s 0.81. Gains from s: 0.09, 0.09, -0.81, mean -0.21; from u: 0.1, -0.9
    found = step_term(paths("s a u c +", "s b u d -", "s e v f -"))
    np.testing.assert_allclose(found, [0.3, 0.5, 0.3, -0.5, -0.6, 0], atol=1e-12)


def test_gamma_is_the_discount_of_a_step() -> None:
    # V: u 0.5, w 0.25: gains from w 0 and 0.25
    np.testing.assert_allclose(step_term(e2(), gamma=0.5)[3:5], [-0.125, 0.125], atol=1e-12)


@pytest.mark.parametrize(
    ("ending", "timeout", "rows"),
    [
        # V(u) = 0.9, the success gains 0.1
        ("?", "open", [0.05, -0.05]),  # nobody recorded where n led: the raw reward, 0
        ("u", "open", [0.05, -0.05]),  # back in u: 0.9 - 0.9
        ("w", "open", [0.5, -0.5]),  # in w, which no step left: 0 - 0.9
        ("?", "failure", [0.5, -0.5]),
        ("u", "failure", [0.5, -0.5]),
    ],
)
def test_a_timeout_leads_to_the_state_that_it_stopped_in_or_to_failure(
    ending: str, timeout: str, rows: list[float]
) -> None:
    np.testing.assert_allclose(step_term(paths("u c +", f"u n {ending}"), timeout=timeout), rows, atol=1e-12)


def test_a_success_cut_by_a_budget_is_a_success() -> None:
    # a lands at 1, not at 1 + V(u); b at 0
    cut = paths("s a u", "s b -", "u c +")
    cut.reward[0] = 1.0
    found = step_term(replace(cut, success=cut.truncated | cut.success))
    np.testing.assert_allclose(found, [0.5, -0.5, 0], atol=1e-12)


def cut_with_reward(reward: float, *episodes: str) -> StepTable:
    """Return the table of `paths`, the first of which was cut by a budget and earned `reward` on its last step."""
    found = paths(*episodes)
    found.reward[np.flatnonzero(found.is_last)[0]] = reward
    return found


def test_the_last_reward_of_a_cut_episode_is_not_earned_again_in_a_loop() -> None:
    # The first episode stays in s and is cut there, having earned 0.5; the second succeeds from t.
    # V(s) = 0.9 max(0.5, V(s)) = 0.45, and not 0.9 (0.5 + V(s)), which is 4.5. V(t) = 0.9 max(V(s), 1) = 0.9.
    # Gains from t: 0.45 - 0.9 and 1 - 0.9, mean -0.175. The loop is not better than the success.
    found = step_term(cut_with_reward(0.5, "t a s b s", "t c +"))
    np.testing.assert_allclose(found, [-0.275, 0, 0.275], atol=1e-12)


@pytest.mark.parametrize(
    ("timeout", "rows"),
    [
        # V(u) = 0.9, so V(w) = 0.9 max(0.3, 0.9) = 0.81: the reward of 0.3 is less than the state u is worth.
        # Gains from w: 0.9 - 0.81 and 0 - 0.81, mean -0.36.
        ("open", [0.45, -0.45, 0]),
        # The cut step leads to an end worth nothing, so V(w) = 0: both gains are 0.
        ("failure", [0, 0, 0]),
    ],
)
def test_the_value_of_a_cut_step_is_the_larger_of_its_reward_and_its_state(timeout: str, rows: list[float]) -> None:
    found = step_term(cut_with_reward(0.3, "w a u", "w b -", "u c +"), timeout=timeout)
    np.testing.assert_allclose(found, rows, atol=1e-12)


@pytest.mark.parametrize("reward", [0.2, -0.2])
def test_the_value_of_a_state_is_at_most_the_largest_last_reward(reward: float) -> None:
    # One state, a loop in it: V(s) = 0.18 or 0. Gains: the first step V(s) - V(s) = 0, the cut step max(r, V(s)) - V(s)
    # = 0.02 or 0.
    found = step_term(cut_with_reward(reward, "s a s b s"))
    np.testing.assert_allclose(found, [-0.01, 0.01] if reward > 0 else [0, 0], atol=1e-12)


def test_rewards_before_the_last_step_count_in_the_episode_term_only() -> None:
    # V: t 0.9, x 0: gains from s differ by 0.9, despite the 5 that the first step earned. Scores 6 and 0: 3 and -3.
    found = advantages(steps([("s", 5.0), ("t", 1.0)], [("s", 0.0), ("x", 0.0)]), "rewardflow")
    np.testing.assert_allclose(found, [3.45, 3, -3.45, -3], atol=1e-12)


def test_a_value_is_never_below_zero() -> None:
    # V(t) = 0, not -0.9: gains from s to t and to x are both 0
    found = step_term(steps([("s", 0.0), ("t", -1.0)], [("s", 0.0), ("x", 0.0)]))
    np.testing.assert_array_equal(found, np.zeros(4))


def test_the_episode_term_is_the_distance_to_the_groups_mean() -> None:
    found = advantages(e2(), "rewardflow", step_weight=0.0)
    np.testing.assert_allclose(found, e2_rows(*[1 / 3] * 2, *[-2 / 3] * 4), atol=1e-12)


def test_both_terms_may_be_divided_by_their_deviation() -> None:
    # steps at w: -0.045, 0.045: std 0.063640; scores 1, 0, 1: -1.154699 for the second episode
    found = advantages(e2(), "rewardflow", normalize="std")
    np.testing.assert_allclose(found[3:5], [-0.707096 - 1.154699, 0.707096 - 1.154699], atol=1e-5)


def test_the_terms_add_up_with_their_weights() -> None:
    # 2 x 0.333333 + 3 x 0.333333, 2 x -0.666667 + 3 x -0.666667
    found = advantages(e2(), "rewardflow", step_weight=2.0, episode_weight=3.0)
    np.testing.assert_allclose(found[[1, 5]], [5 / 3, -10 / 3], atol=1e-6)


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b u e -", "s b ?"), "rewardflow"), np.zeros(5))


def test_states_seen_once_have_no_step_term_and_a_lone_episode_no_episode_term() -> None:
    np.testing.assert_array_equal(step_term(outcomes(1, 0)), np.zeros(2))
    np.testing.assert_array_equal(advantages(paths("s a u b +"), "rewardflow"), np.zeros(2))
