"""OPRL against the worked example: step rewards .2 -.1 .3 of a success and -.1 -.2 of a failure.

Step term: mean .02, squares .0324 + .0144 + .0784 + .0144 + .0484 = .188, std (ddof 1) sqrt(.047) = .216795.
Episode term: +-.5 / .707107. Sums to go: .4 .2 .3 and -.3 -.2, the largest .4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes


def example(name: str = "implicit") -> StepTable:
    return StepTable.from_columns(
        group=[0] * 5, episode=[0, 0, 0, 1, 1], turn=[0, 1, 2, 0, 1], anchor=range(5), action=range(5),
        reward=[0, 0, 1, 0, 0], channels={name: [0.2, -0.1, 0.3, -0.1, -0.2], "other": [9, 8, 7, 6, 5]},
    )  # fmt: skip


STEP = [0.830278, -0.553519, 1.291544, -0.553519, -1.014784]
EPISODE = [0.707107, 0.707107, 0.707107, -0.707107, -0.707107]


@pytest.mark.parametrize("weight", [1.0, 0.5, 0.0])
def test_episode_term_plus_weighted_step_term(weight: float) -> None:
    found = advantages(example(), "oprl", weight=weight)
    np.testing.assert_allclose(found, np.array(EPISODE) + weight * np.array(STEP), atol=1e-5)


@pytest.mark.parametrize(
    ("config", "step"),
    [
        ({}, [0.18, -0.12, 0.28, -0.12, -0.22]),
        # mean of .4 .2 .3 -.3 -.2: .08
        ({"credit": "return"}, [0.32, 0.12, 0.22, -0.38, -0.28]),
        # over .400001
        ({"scale": "batch"}, [0.45, -0.3, 0.7, -0.3, -0.55]),
        # mean of the first rows .2 and -.1: .05
        ({"statistics": "first"}, [0.15, -0.15, 0.25, -0.15, -0.25]),
    ],
)
def test_step_terms_without_deviation(config: dict[str, Any], step: list[float]) -> None:
    found = advantages(example(), "oprl", normalize="none", **config)
    np.testing.assert_allclose(found, np.array([0.5, 0.5, 0.5, -0.5, -0.5]) + step, atol=1e-5)


def test_the_deviation_is_of_all_rows_from_the_mean_of_the_first_ones() -> None:
    # mean .05, distances .15 -.15 .25 -.15 -.25: squares 3 x .0225 + 2 x .0625 = .1925 over 4, std .219374
    found = advantages(example(), "oprl", statistics="first") - EPISODE
    np.testing.assert_allclose(found, [0.683764, -0.683764, 1.139607, -0.683764, -1.139607], atol=2e-5)


def test_equal_first_rows_do_not_divide_the_others_by_nothing() -> None:
    # first rows .1 and .1: mean .1; the second rows are .2 and -.2 away: squares .08 over 3, std .163299
    rows = StepTable.from_columns(
        group=[0] * 4, episode=[0, 0, 1, 1], turn=[0, 1, 0, 1], anchor=range(4), action=range(4), reward=[0] * 4,
        channels={"implicit": [0.1, 0.3, 0.1, -0.1]},
    )  # fmt: skip
    found = advantages(rows, "oprl", statistics="first")
    np.testing.assert_allclose(found, [0, 1.224745, 0, -1.224745], atol=2e-5)


def test_epsilon_is_added_to_both_deviations() -> None:
    found = advantages(example(), "oprl", epsilon=1.0)
    np.testing.assert_allclose(found[0], 0.5 / 1.707107 + 0.18 / 1.216795, atol=1e-6)


def test_the_channel_has_a_name() -> None:
    np.testing.assert_array_equal(advantages(example("prm"), "oprl", channel="prm"), advantages(example(), "oprl"))
    with pytest.raises(CairnError, match=r"a channel 'implicit', got \['other', 'prm'\]"):
        advantages(example("prm"), "oprl")
    with pytest.raises(CairnError, match="credit 'oprl' needs channels"):
        advantages(outcomes(1, 0), "oprl")


def steps(group: list[int], reward: list[float], implicit: list[float]) -> StepTable:
    n = len(group)
    return StepTable.from_columns(
        group=group, episode=range(n), turn=[0] * n, anchor=range(n), action=range(n), reward=reward,
        channels={"implicit": implicit},
    )  # fmt: skip


def test_each_task_is_compared_with_itself() -> None:
    found = advantages(steps([0, 0, 1, 1], [1, 0, 5, 3], [0.2, 0.4, 7, 5]), "oprl", normalize="none")
    np.testing.assert_allclose(found, [0.5 - 0.1, -0.5 + 0.1, 1 + 1, -1 - 1], atol=1e-12)


def test_no_spread_gives_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(steps([0] * 3, [0.3] * 3, [0.1] * 3), "oprl"), np.zeros(3))


def test_a_group_of_one_compares_its_steps_with_each_other() -> None:
    lone = StepTable.from_columns(
        group=[0] * 2, episode=[0] * 2, turn=[0, 1], anchor=range(2), action=range(2), reward=[0, 1],
        channels={"implicit": [0.2, 0.4]},
    )  # fmt: skip
    np.testing.assert_allclose(advantages(lone, "oprl", normalize="none"), [-0.1, 0.1], atol=1e-12)
    np.testing.assert_array_equal(advantages(steps([0], [1], [0.2]), "oprl"), [0.0])
