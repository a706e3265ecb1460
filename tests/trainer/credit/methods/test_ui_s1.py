"""UI-S1 against the worked examples of returns, gamma .5, and against terms worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes

Episode = tuple[Sequence[float], Sequence[int]]  # rewards and matches


def found(*episodes: Episode, groups: Sequence[int] | None = None, **config: Any) -> Floats:  # Any: of several types
    rows = [(e, t, r, m) for e, (rewards, match) in enumerate(episodes)
            for t, (r, m) in enumerate(zip(rewards, match, strict=True))]  # fmt: skip
    steps = StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, *_ in rows], episode=[e for e, *_ in rows],
        turn=[t for _, t, *_ in rows], anchor=range(len(rows)), action=range(len(rows)),
        reward=[r for *_, r, _ in rows], channels={"match": [m for *_, m in rows]},
    )  # fmt: skip
    return advantages(steps, "ui_s1", **config)


@pytest.mark.parametrize(
    ("rewards", "match", "returns"),
    [
        ([1, 0.19, 1, 1], [1, 0, 1, 1], [1, 0.19, 1.5, 1]),
        ([1, 1, 1, 0.19], [1, 1, 1, 0], [1.75, 1.5, 1, 0.19]),
    ],
)
def test_the_worked_examples_of_returns(rewards: list[float], match: list[int], returns: list[float]) -> None:
    # Against an episode that earns nothing, the step term without deviation is +- half of the return.
    rows = found((rewards, match), ([0] * 4, [0] * 4), episode_weight=0.0, normalize="none")
    half = np.array(returns) / 2
    np.testing.assert_allclose(rows, [*half, *-half], atol=1e-12)


def test_the_discount_is_a_setting() -> None:
    # 1 + .9 = 1.9 and 1, halved
    rows = found(([1, 1], [1, 1]), ([0, 0], [0, 0]), episode_weight=0.0, normalize="none", gamma=0.9)
    np.testing.assert_allclose(rows, [0.95, 0.5, -0.95, -0.5], atol=1e-12)


TWO = (([1, 1], [1, 1]), ([1, 0.2], [1, 0]))  # returns 1.5 1 and 1 .2; sums 2 and 1.2


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # step: +-.25 and +-.4; episode: mean 1.6, +-.4
        ({"normalize": "none"}, [0.65, 0.8, -0.65, -0.8]),
        # rows 1 1 1 .2: mean .8
        ({"normalize": "none", "episode": "row"}, [0.45, 0.6, -0.05, -1.0]),
        ({"normalize": "none", "episode_weight": 2.0, "step_weight": 0.5}, [0.925, 1.0, -0.925, -1.0]),
        # two members: +-.707107 in every segment
        ({}, [1.414214, 1.414214, -1.414214, -1.414214]),
        # rows: std (ddof 1) .4: .5, .5, .5, -1.5
        ({"episode": "row"}, [1.207107, 1.207107, -0.207107, -2.207107]),
    ],
)
def test_the_two_terms(config: dict[str, Any], expected: list[float]) -> None:
    np.testing.assert_allclose(found(*TWO, **config), expected, atol=1e-5)


def test_epsilon_is_added_to_both_deviations() -> None:
    # step: .25 / (.353553 + 1); episode: .4 / (.565685 + 1)
    np.testing.assert_allclose(found(*TWO, epsilon=1.0)[0], 0.25 / 1.353553 + 0.4 / 1.565685, atol=1e-6)


def test_a_turn_that_one_episode_alone_has_gets_the_episode_term_only() -> None:
    rows = found(([1, 1], [1, 1]), ([1], [1]), normalize="none")
    # sums 2, 1: +-.5; turn 0: 1.5 and 1: +-.25
    np.testing.assert_allclose(rows, [0.75, 0.5, -0.75], atol=1e-12)


def test_equal_turns_of_two_tasks_are_not_compared() -> None:
    rows = found(([1], [1]), ([0], [0]), ([5], [1]), ([3], [1]), groups=[0, 0, 1, 1], normalize="none")
    np.testing.assert_allclose(rows, [1, -1, 2, -2], atol=1e-12)


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(found(([1, 0.3], [1, 1])), np.zeros(2))


def test_a_group_of_one_compares_its_rows_if_the_episode_term_is_of_rows() -> None:
    # mean .6
    rows = found(([1, 0.2], [1, 1]), episode="row", normalize="none")
    np.testing.assert_allclose(rows, [0.4, -0.4], atol=1e-12)


@pytest.mark.parametrize("normalize", ["none", "std"])
def test_equal_episodes_have_no_advantage(normalize: str) -> None:
    np.testing.assert_array_equal(found(*[([0.3, 1.0], [1, 1])] * 3, normalize=normalize), np.zeros(6))


def test_the_channel_is_needed() -> None:
    with pytest.raises(CairnError, match="credit 'ui_s1' needs channels"):
        advantages(outcomes(1, 0), "ui_s1")
    steps = StepTable.from_columns(
        group=[0], episode=[0], turn=[0], anchor=[0], action=[0], reward=[1], channels={"format": [1]}
    )
    with pytest.raises(CairnError, match=r"a channel 'match', got \['format'\]"):
        advantages(steps, "ui_s1")
