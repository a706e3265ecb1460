"""SPO-chain: differences of probed values, the score at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes


def found(
    *, episode: Sequence[int], turn: Sequence[int], reward: Sequence[float], value: Sequence[float], cut: bool = False
) -> Floats:
    n = len(episode)
    steps = StepTable.from_columns(
        group=[0] * n, episode=episode, turn=turn, anchor=range(n), action=range(n), reward=reward, value=value,
        truncated=[cut] * n,
    )  # fmt: skip
    return advantages(steps, "spo_chain")


def test_the_worked_example() -> None:
    # .5 - .25, .5 - .5, and the score 1 - .5
    rows = found(episode=[0] * 3, turn=[0, 1, 2], reward=[0, 0, 1], value=[0.25, 0.5, 0.5])
    np.testing.assert_allclose(rows, [0.25, 0.0, 0.5], atol=1e-12)


def test_the_value_of_the_end_is_the_sum_of_the_episodes_rewards() -> None:
    # score .5 + .25: .25 - 0, .75 - .25
    rows = found(episode=[0] * 2, turn=[0, 1], reward=[0.5, 0.25], value=[0.0, 0.25])
    np.testing.assert_allclose(rows, [0.25, 0.5], atol=1e-12)


def test_an_episode_cut_by_a_budget_ends_in_nothing() -> None:
    rows = found(episode=[0] * 2, turn=[0, 1], reward=[0, 1], value=[0.25, 0.75], cut=True)
    np.testing.assert_allclose(rows, [0.5, -0.75], atol=1e-12)


def test_episodes_do_not_run_into_each_other() -> None:
    # first: .4 - .2, 0 - .4; second: 1 - .9
    rows = found(episode=[0, 0, 1], turn=[0, 1, 0], reward=[0, 0, 1], value=[0.2, 0.4, 0.9])
    np.testing.assert_allclose(rows, [0.2, -0.4, 0.1], atol=1e-12)


def test_values_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'spo_chain' needs value"):
        advantages(outcomes(1, 0), "spo_chain")
