"""GAGPO against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import means, segments
from tests.trainer.credit.columns import A, B, C, outcomes, table
from tests.trainer.credit.golden import e2, e2_rows, paths

# gamma 0.95: V: u 2/3, w 0, s0 0.633333. delta: a 0.95 x 2/3 - V(s0) = 0, c 1/3, b -0.633333, n 0, d 0.633333, e -2/3
DELTA = e2_rows(0, 0.333333, -0.633333, 0, 0.633333, -0.666667)


def test_the_golden_table_with_one_step_differences() -> None:
    np.testing.assert_allclose(advantages(e2(), "gagpo", lam=0.0, normalize="none"), DELTA, atol=1e-5)


def test_the_golden_table_with_lambda() -> None:
    # 2.2: 0.633333 - 0.9025 x 0.666667 = 0.031667, and so on backwards
    expected = e2_rows(0.300833, 0.333333, -0.607541, 0.028579, 0.031667, -0.666667)
    np.testing.assert_allclose(advantages(e2(), "gagpo", normalize="none"), expected, atol=1e-5)


@pytest.mark.parametrize(
    "episodes", [e2(10.0), table(A, B, C), table([("s", 1.0), ("t", 2.0), ("s", 0.5)], [("t", 1.0)])]
)
def test_lambda_1_gives_the_return_minus_the_value(episodes: StepTable) -> None:
    found = advantages(episodes, "gagpo", lam=1.0, gamma=0.9, normalize="none")
    to_go = returns(episodes, episodes.reward, 0.9)
    state = segments(episodes.group, episodes.anchor)
    np.testing.assert_allclose(found, to_go - means(to_go, state)[state], atol=1e-12)


def test_the_norm_is_over_the_steps_of_the_group() -> None:
    # The deltas sum to 0; squares sum to 1.468889, / 7 = 0.209841, std 0.458084
    expected = e2_rows(0, 0.727667, -1.382567, 0, 1.382567, -1.455334)
    np.testing.assert_allclose(advantages(e2(), "gagpo", lam=0.0), expected, atol=1e-5)


def test_the_norm_may_be_without_division() -> None:
    # lambda 0.95: the eight credits sum to 0.054371: mean 0.006796
    expected = e2_rows(0.294037, 0.326537, -0.614337, 0.021783, 0.024870, -0.673463)
    np.testing.assert_allclose(advantages(e2(), "gagpo", normalize="centre"), expected, atol=2e-6)


def test_the_norm_may_be_over_the_steps_of_the_state() -> None:
    # s0: 0, -0.633333, 0: mean -0.211111; u: the deltas sum to 0; w: mean 0.316667
    expected = e2_rows(0.211111, 0.333333, -0.422222, -0.316667, 0.316667, -0.666667)
    found = advantages(e2(), "gagpo", lam=0.0, within="state", normalize="centre")
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rewards_on_the_way_count() -> None:
    # gamma 0.5: returns 1.5, 1 and 0, 0: V(s) = 0.75, V(t) = 0.5. delta: 1 + 0.25 - 0.75, 1 - 0.5, 0.25 - 0.75, -0.5
    episodes = table([("s", 1.0), ("t", 1.0)], [("s", 0.0), ("t", 0.0)])
    found = advantages(episodes, "gagpo", gamma=0.5, lam=0.0, normalize="none")
    np.testing.assert_allclose(found, [0.5, 0.5, -0.5, -0.5], atol=1e-12)


@pytest.mark.parametrize(
    ("timeout", "rows"),
    [
        # V(u) = 1, V(s) = (0.95 + 0) / 2. b leads nowhere, or to u.
        ("failure", [0.475, 0, -0.475]),
        ("open", [0.475, 0, 0.475]),
    ],
)
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    found = advantages(paths("s a u c +", "s b u"), "gagpo", lam=0.0, normalize="none", timeout=timeout)
    np.testing.assert_allclose(found, rows, atol=1e-12)


def test_a_lone_episode_and_episodes_that_are_alike_have_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(table(A), "gagpo"), np.zeros(3))
    np.testing.assert_array_equal(advantages(table(A, A, A), "gagpo"), np.zeros(9))
    np.testing.assert_array_equal(advantages(outcomes(1, 0), "gagpo"), np.zeros(2))


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b u e -"), "gagpo"), np.zeros(4))


def test_each_task_is_compared_with_itself() -> None:
    episodes = table([("s", 1.0)], [("s", 0.0)], [("s", 5.0)], [("s", 4.0)], groups=[0, 0, 1, 1])
    np.testing.assert_allclose(advantages(episodes, "gagpo", normalize="centre"), [0.5, -0.5, 0.5, -0.5], atol=1e-12)
