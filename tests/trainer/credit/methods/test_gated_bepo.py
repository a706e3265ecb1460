"""Gated-BEPO, as reconstructed, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, outcomes, table
from tests.trainer.credit.golden import e2, e2_rows, paths


def test_the_golden_table_without_lambda_is_the_temporal_difference() -> None:
    # In E2 every state branches: s0 to u and w, w to w and u, u to success and failure.
    # gamma 0.99: V: u 0.66, w 0.99 x 0.66 / 1.01 = 0.646931, s0 (2 x 0.6534 + 0.640461) / 3 = 0.649087
    found = advantages(e2(), "gated_bepo", gamma=0.99, lam=0.0, normalize="none")
    expected = e2_rows(0.004313, 0.33, -0.008626, -0.006469, 0.006469, -0.66)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    ten = advantages(e2(10.0), "gated_bepo", gamma=0.99, lam=0.0, normalize="none")
    np.testing.assert_allclose(ten, 10 * np.array(expected), atol=1e-5)


# gamma 0.95: V: u 0.633333, w 0.95 x 0.633333 / 1.05 = 0.573016, s0 0.582566
# delta: a 0.019101, c 0.316667, b -0.038201, n -0.028651, d 0.028651, e -0.633333
def test_lambda_credits_a_step_with_later_surprises() -> None:
    # rate 0.95 x 0.5 = 0.475: 1.0: 0.019101 + 0.475 x 0.316667; 2.2: 0.028651 - 0.475 x 0.633333; and so on backwards
    expected = e2_rows(0.169518, 0.316667, -0.113221, -0.157937, -0.272182, -0.633333)
    found = advantages(e2(), "gated_bepo", lam=0.5, normalize="none")
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_the_norm_is_over_the_steps_of_the_group() -> None:
    # The deltas sum to 0; squares sum to 0.605497, / 7: std 0.294108
    expected = e2_rows(0.064945, 1.076700, -0.129889, -0.097417, 0.097417, -2.153397)
    np.testing.assert_allclose(advantages(e2(), "gated_bepo", lam=0.0), expected, atol=1e-5)


def test_the_norm_may_be_over_the_steps_of_the_state_and_without_division() -> None:
    # lambda 0.5, at w: -0.157937 and -0.272182: mean -0.215060
    found = advantages(e2(), "gated_bepo", lam=0.5, normalize="centre", within="state")
    np.testing.assert_allclose(found[3:5], [0.057122, -0.057122], atol=2e-6)


# s leads to u by every action; u branches. V(u) = 0.475: c gains 0.95 - 0.475.
GATED = paths("s a u c +", "s b u d -")


def test_a_state_that_does_not_branch_has_the_episode_term() -> None:
    # scores 1, 0: 0.5 / 0.707108
    found = advantages(GATED, "gated_bepo", lam=0.0, normalize="none")
    np.testing.assert_allclose(found, [0.707106, 0.475, -0.707106, -0.475], atol=1e-5)


@pytest.mark.parametrize(("step", "episode"), [(1.0, 0.0), (0.0, 1.0), (2.0, 3.0)])
def test_the_parts_have_their_weights(step: float, episode: float) -> None:
    found = advantages(GATED, "gated_bepo", lam=0.0, normalize="none", step_weight=step, episode_weight=episode)
    expected = [episode * 0.707106, step * 0.475, episode * -0.707106, step * -0.475]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_states_of_equal_value_are_equal_despite_rounding() -> None:
    # From s to p, which succeeds once in four, and to q, three times in twelve: the sums round differently
    table = paths(*(f"s a p c {end}" for end in "+---"), *(f"s b q c {end}" for end in "+++---------"))
    found = advantages(table, "gated_bepo", lam=0.0, within="state", episode_weight=0.0)
    np.testing.assert_array_equal(found[::2], np.zeros(16))


def test_successes_share_one_end_and_failures_share_another() -> None:
    # u only succeeds, v only fails; s leads to both. V(s) = (0.9025 + 0.9025 + 0 + 0) / 4 = 0.45125
    episodes = paths("s a u c +", "s a u d +", "s b v c -", "s b v d -")
    found = advantages(episodes, "gated_bepo", lam=0.0, normalize="none", episode_weight=0.0)
    np.testing.assert_allclose(found, [0.45125, 0, 0.45125, 0, -0.45125, 0, -0.45125, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("timeout", "rows"),
    [
        # s leads to u and to failure: V(u) = 0.95, V(s) = 0.45125. u does not branch: the episode's advantage
        ("failure", [0.45125, 0.707106, -0.45125]),
        ("open", [0.707106, 0.707106, -0.707106]),  # s always leads to u
    ],
)
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    found = advantages(paths("s a u c +", "s b u"), "gated_bepo", lam=0.0, normalize="none", timeout=timeout)
    np.testing.assert_allclose(found, rows, atol=1e-5)


def test_a_lone_episode_and_episodes_that_are_alike_have_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(table(A), "gated_bepo"), np.zeros(3))
    np.testing.assert_array_equal(advantages(table(A, A, A), "gated_bepo"), np.zeros(9))


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b v e -", "s b v e -"), "gated_bepo"), np.zeros(6))


def test_states_seen_once_have_the_episode_term() -> None:
    found = advantages(outcomes(1, 0, 0, 0), "gated_bepo")
    np.testing.assert_array_equal(found, advantages(outcomes(1, 0, 0, 0), "grpo"))
