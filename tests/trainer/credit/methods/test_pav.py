"""PAV against the worked example: a parent of value .25, children of value .5 and 0, K 4, alpha 5.

Best of 4: 1 - .75^4 = .683594, 1 - .5^4 = .9375, and 0. Progress: .253906 and -.683594.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes


def steps(
    value: Sequence[float],
    reward: Sequence[float],
    *,
    final: Sequence[float] | None = None,
    episode: Sequence[int] | None = None,
    turn: Sequence[int] | None = None,
) -> StepTable:
    n = len(value)
    return StepTable.from_columns(
        group=[0] * n, episode=range(n) if episode is None else episode, turn=[0] * n if turn is None else turn,
        anchor=range(n), action=range(n), reward=reward, value=value, final_value=final,
    )  # fmt: skip


def test_the_worked_example() -> None:
    # .5 + 5 x .253906 and 0 - 5 x .683594
    found = advantages(steps([0.25, 0.25], [0, 0], final=[0.5, 0.0]), "pav", outcome="value")
    np.testing.assert_allclose(found, [1.769531, -3.417969], atol=1e-6)


@pytest.mark.parametrize(("outcome", "term"), [("dr_grpo", 0.5), ("grpo", 0.707107)])
def test_the_progress_is_added_to_an_episode_term(outcome: str, term: float) -> None:
    found = advantages(steps([0.25, 0.25], [1, 0], final=[0.5, 0.0]), "pav", outcome=outcome)
    np.testing.assert_allclose(found, [term + 1.269531, -term - 3.417969], atol=2e-6)


def test_epsilon_is_added_to_the_deviation() -> None:
    found = advantages(steps([0.25, 0.25], [1, 0], final=[0.25, 0.25]), "pav", epsilon=1.0)
    np.testing.assert_allclose(found, [0.5 / 1.707107, -0.5 / 1.707107], atol=1e-6)


def test_one_attempt_is_the_provers_own_rate() -> None:
    # 2 x (.5 - .25) and 2 x (0 - .25)
    found = advantages(steps([0.25, 0.25], [0, 0], final=[0.5, 0.0]), "pav", attempts=1, alpha=2.0)
    np.testing.assert_allclose(found, [0.5, -0.5], atol=1e-12)


def test_without_final_values_the_final_value_is_the_score_clipped_to_a_probability() -> None:
    # one attempt: scores 3 and -1 end in 1 and 0: .8, -.2; episode term 2 and -2
    found = advantages(steps([0.2, 0.2], [3, -1]), "pav", attempts=1, alpha=1.0, outcome="dr_grpo")
    np.testing.assert_allclose(found, [2.8, -2.2], atol=1e-12)


def test_values_are_cut_to_probabilities() -> None:
    # 1.5 is 1 and -.5 is 0: 0 - 1, and 1 - 0
    table = steps([1.5, -0.5], [0, 0], final=[-2.0, 2.0])
    np.testing.assert_allclose(advantages(table, "pav", alpha=1.0), [-1.0, 1.0], atol=1e-12)


def test_the_progress_of_an_episode_adds_up() -> None:
    # one attempt: .5 - .25, .4 - .5, and the score 1 - .4; a lone episode has no outcome term
    table = steps([0.25, 0.5, 0.4], [0, 0, 1], episode=[0] * 3, turn=[0, 1, 2])
    found = advantages(table, "pav", attempts=1, alpha=1.0)
    np.testing.assert_allclose(found, [0.25, -0.1, 0.6], atol=1e-12)


def test_without_weight_it_is_grpo() -> None:
    table = steps([0.3, 0.9, 0.1], [1, 0, 0.5])
    np.testing.assert_array_equal(advantages(table, "pav", alpha=0.0), advantages(table, "grpo"))


def test_values_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'pav' needs value"):
        advantages(outcomes(1, 0), "pav")
