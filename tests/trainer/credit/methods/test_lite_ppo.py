"""Lite-PPO against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table

TWO_TASKS = outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1])


# rewards: four of 1, four of 0, squares 8 x 0.25 over 7, std 0.534522;
# centred: squares 2 x 0.5625 + 6 x 0.0625 = 1.5 over 7, std 0.462910; 0.75 and 0.25 over std + epsilon
@pytest.mark.parametrize(
    ("settings", "far", "near"),
    [
        ({}, 1.402859, 0.467620),
        ({"spread_of": "rewards"}, 1.402859, 0.467620),
        ({"spread_of": "centred"}, 1.619836, 0.539945),
        ({"spread_of": "centred", "epsilon": 1e-6}, 1.620182, 0.540061),
        ({"epsilon": 0.465478}, 0.75, 0.25),  # the divisor is 1
    ],
)
def test_two_tasks(settings: dict[str, Any], far: float, near: float) -> None:
    found = advantages(TWO_TASKS, "lite_ppo", **settings)
    np.testing.assert_allclose(found, [far, -near, -near, -near, near, near, -far, near], atol=1e-6)


@pytest.mark.parametrize("spread_of", ["rewards", "centred"])
def test_one_task_is_grpo(spread_of: str) -> None:
    # std 0.5 by either reading: 0.75 / 0.5001
    found = advantages(outcomes(1, 0, 0, 0), "lite_ppo", spread_of=spread_of)
    np.testing.assert_allclose(found, [1.499700, -0.499900, -0.499900, -0.499900], atol=1e-6)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1 and 0: std 0.707107; 0.5 / 0.707207
    found = advantages(table([("a", 0.25), ("b", 0.75)], [("c", 0.0)]), "lite_ppo")
    np.testing.assert_allclose(found, [0.707007, 0.707007, -0.707007], atol=1e-6)


@pytest.mark.parametrize("spread_of", ["rewards", "centred"])
def test_a_group_of_one_or_without_spread_has_no_advantage(spread_of: str) -> None:
    episodes = outcomes(5, 0.3, 0.3, 0.3, 1, 0, groups=[0, 1, 1, 1, 2, 2])
    found = advantages(episodes, "lite_ppo", spread_of=spread_of)
    np.testing.assert_array_equal(found[:4], np.zeros(4))
    assert found[4] > 0 > found[5]


@pytest.mark.parametrize("spread_of", ["rewards", "centred"])
def test_a_batch_without_spread_has_no_advantage(spread_of: str) -> None:
    found = advantages(outcomes(0.3, 0.3, 0.3, groups=[0, 0, 1]), "lite_ppo", spread_of=spread_of)
    np.testing.assert_array_equal(found, np.zeros(3))


def test_a_batch_of_one_episode_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(outcomes(5), "lite_ppo"), [0.0])
