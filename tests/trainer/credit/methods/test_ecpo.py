"""ECPO against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, outcomes, table
from tests.trainer.credit.golden import e2, e2_rows, paths

# One state, returns: a 1, a 0, b 0, b 0.
MIXED = paths("s a +", "s a -", "s b -", "s b -")


@pytest.mark.parametrize("kappa", [0.0, 2.0, 50.0])
def test_with_two_actions_at_a_state_the_deviation_cancels_the_shrinkage(kappa: float) -> None:
    # GiGPO's step term: in s0 and u two equal values against one, at w no spread
    found = advantages(e2(), "ecpo", episode_weight=0.0, gate=False, kappa=kappa, epsilon=1e-9)
    np.testing.assert_allclose(found, e2_rows(0.577350, 0.577350, -1.154701, 0, 0, -1.154701), atol=1e-5)


@pytest.mark.parametrize(
    ("kappa", "rows"),
    [
        # means: s0 0.633333 of a 0.95 (twice) and b 0; u 0.666667 of c 1 (twice) and e 0
        (0.0, [0.316667, 0.333333, -0.633333, 0, 0, -0.666667]),
        # s0: a (1.9 + 1.266667) / 4 = 0.791667, b 1.266667 / 3 = 0.422222, mean of the steps 0.668519
        # u: c (2 + 1.333333) / 4 = 0.833333, e 1.333333 / 3 = 0.444444, mean of the steps 0.703704
        (2.0, [0.123148, 0.129630, -0.246296, 0, 0, -0.259259]),
    ],
)
def test_action_means_are_shrunk_towards_the_states_mean(kappa: float, rows: list[float]) -> None:
    found = advantages(e2(), "ecpo", episode_weight=0.0, gate=False, kappa=kappa, normalize="none")
    np.testing.assert_allclose(found, e2_rows(*rows), atol=1e-6)


def test_with_three_actions_the_shrinkage_changes_the_scores() -> None:
    # Returns: a 1, 1; b 0; c 0.5: mean 0.625. kappa 2: a 0.8125, b 0.416667, c 0.583333: mean of the steps 0.65625,
    # std (ddof 1) 0.192826: 0.15625, 0.15625, -0.239583, -0.072917 divided by it
    episodes = table([("s", 1.0)], [("s", 1.0)], [("s", 0.0)], [("s", 0.5)])
    episodes.action[:] = [0, 0, 1, 2]
    found = advantages(episodes, "ecpo", episode_weight=0.0, gate=False)
    np.testing.assert_allclose(found, [0.810318, 0.810318, -1.242484, -0.378148], atol=1e-5)


def test_the_gate_measures_evidence_between_actions() -> None:
    # mean 0.25; a 0.5, b 0. Between: 0.0625; within: (0.25 + 0.25) / 4 = 0.125; rho = tanh(4 / 4) x 0.0625 / 0.187501 =
    # 0.761594 x 0.333332 = 0.253863, times 0.25 and -0.25
    found = advantages(MIXED, "ecpo", episode_weight=0.0, kappa=0.0, normalize="none")
    np.testing.assert_allclose(found, [0.063466, 0.063466, -0.063466, -0.063466], atol=1e-6)


@pytest.mark.parametrize(("tau", "opening"), [(1.0, 0.999329), (4.0, 0.761594), (40.0, 0.099668)])
def test_the_gate_opens_with_the_visits(tau: float, opening: float) -> None:
    # tanh(4 / tau) x 0.333332 x 0.25
    found = advantages(MIXED, "ecpo", episode_weight=0.0, kappa=0.0, normalize="none", tau=tau)
    assert found[0] == pytest.approx(opening * 0.083333, abs=1e-6)


def test_the_terms_add_up_with_their_weights() -> None:
    # Episodes: scores 1, 0, 1: 0.577349 and -1.154699. Steps in s0 and u: nothing varies within an action, so rho is
    # tanh(3 / 4) = 0.635149, less 3e-6 by epsilon; times 0.577348 and -1.154695: 0.366700 and -0.733399. At w: 0.
    expected = e2_rows(0.944049, 0.944049, -1.888098, -1.154699, -1.154699, -1.888098)
    np.testing.assert_allclose(advantages(e2(), "ecpo"), expected, atol=1e-5)
    half = advantages(e2(), "ecpo", step_weight=2.0, episode_weight=0.5)
    np.testing.assert_allclose(half[:3], [1.022075, 1.022075, -2.044148], atol=1e-5)


def test_the_episode_term_can_be_without_division() -> None:
    found = advantages(e2(), "ecpo", step_weight=0.0, episode_normalize="none")
    np.testing.assert_allclose(found, e2_rows(*[1 / 3] * 2, *[-2 / 3] * 4), atol=1e-12)


def test_returns_are_discounted() -> None:
    # gamma 0.5: s0: a 0.5, b 0: mean 0.333333
    found = advantages(e2(), "ecpo", episode_weight=0.0, gate=False, kappa=0.0, normalize="none", gamma=0.5)
    np.testing.assert_allclose(found[:3], [1 / 6, 1 / 3, -1 / 3], atol=1e-12)


def test_a_state_with_one_action_has_no_step_term() -> None:
    episodes = paths("s a +", "s a -")
    np.testing.assert_array_equal(advantages(episodes, "ecpo", episode_weight=0.0), np.zeros(2))


def test_states_seen_once_and_equal_returns_give_no_step_term() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 0, 0), "ecpo", episode_weight=0.0), np.zeros(3))
    np.testing.assert_array_equal(advantages(table(A, A, A), "ecpo"), np.zeros(9))
    np.testing.assert_array_equal(advantages(outcomes(1), "ecpo"), np.zeros(1))


def test_equal_states_of_two_tasks_are_not_compared() -> None:
    episodes = table([("s", 1.0)], [("s", 0.0)], [("s", 5.0)], [("s", 4.0)], groups=[0, 0, 1, 1])
    found = advantages(episodes, "ecpo", episode_weight=0.0, gate=False, kappa=0.0, normalize="none")
    np.testing.assert_allclose(found, [0.5, -0.5, 0.5, -0.5], atol=1e-12)
