"""GAE over turns against the worked example: rewards 0 0 1, values .1 .3 .5, lambda .95."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes


def steps(
    reward: Sequence[float],
    value: Sequence[float],
    *,
    episode: Sequence[int] | None = None,
    turn: Sequence[int] | None = None,
    truncated: Sequence[bool] | None = None,
    final_value: Sequence[float] | None = None,
    trained: Sequence[bool] | None = None,
) -> StepTable:
    n = len(reward)
    return StepTable.from_columns(
        group=[0] * n, episode=[0] * n if episode is None else episode, turn=range(n) if turn is None else turn,
        anchor=range(n), action=range(n), reward=reward, value=value, truncated=truncated, final_value=final_value,
        trained=trained,
    )  # fmt: skip


def test_the_worked_example() -> None:
    # 1 - .5 = .5; .5 - .3 + .95 x .5 = .675; .3 - .1 + .95 x .675 = .84125
    np.testing.assert_allclose(advantages(steps([0, 0, 1], [0.1, 0.3, 0.5]), "gae"), [0.84125, 0.675, 0.5], atol=1e-12)


def test_the_discount_applies_to_the_next_value_and_to_the_sum() -> None:
    # gamma .5, lambda .5: 1 - .5 = .5; .25 - .3 + .25 x .5 = .075; .15 - .1 + .25 x .075 = .06875
    found = advantages(steps([0, 0, 1], [0.1, 0.3, 0.5]), "gae", gamma=0.5, lam=0.5)
    np.testing.assert_allclose(found, [0.06875, 0.075, 0.5], atol=1e-12)


def test_lambda_one_is_the_return_minus_the_value() -> None:
    found = advantages(steps([0.25, 0, 1], [0.1, 0.3, 0.5]), "gae", lam=1.0)
    np.testing.assert_allclose(found, [1.25 - 0.1, 1 - 0.3, 1 - 0.5], atol=1e-12)


def test_an_episode_that_is_over_ends_in_zero_and_one_that_was_cut_in_its_final_value() -> None:
    # over: 0 - .5. cut: .8 - .5. lambda 0: .5 - .1 before both.
    found = advantages(
        steps(
            [0, 0, 0, 0], [0.1, 0.5, 0.1, 0.5], episode=[0, 0, 1, 1], turn=[0, 1, 0, 1],
            truncated=[False, False, True, True], final_value=[9.0, 0.8, 9.0, 0.8],
        ),
        "gae",
        lam=0.0,
    )  # fmt: skip
    np.testing.assert_allclose(found, [0.4, -0.5, 0.4, 0.3], atol=1e-12)


def test_without_final_values_a_cut_episode_ends_in_zero() -> None:
    found = advantages(steps([0, 0], [0.1, 0.5], truncated=[True, True]), "gae", lam=0.0)
    np.testing.assert_allclose(found, [0.4, -0.5], atol=1e-12)


def test_whitening_is_over_the_trained_rows_of_the_batch() -> None:
    # lambda 0, values 0: advantages 1, 2, 3 and, not trained, 100. Mean 2, variance (ddof 1) 1.
    rewards, values = [1.0, 2.0, 3.0, 100.0], [0.0] * 4
    table = steps(rewards, values, episode=[0, 1, 2, 3], turn=[0] * 4, trained=[True, True, True, False])
    np.testing.assert_allclose(advantages(table, "gae", whiten=True), [-1, 0, 1, 0], atol=1e-7)


@pytest.mark.parametrize("trained", [True, False])
def test_one_row_whitens_to_nothing(trained: bool) -> None:
    table = steps([1.0], [0.25], trained=[trained])
    np.testing.assert_array_equal(advantages(table, "gae", whiten=True), [0.0])


def test_values_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'gae' needs value"):
        advantages(outcomes(1, 0), "gae")
