"""VeRPO against the worked example: four turns and three tests, alpha 1, sigma .2.

Passed 1 0 0, 1 1 0, 1 0 0, 1 1 1: rates 1, .5, .25. Densities: 1 + exp(-3.125) + exp(-7.03125) = 1.044821, and
1.501770, 1.458717. Weights exp(-1) / 1.044821 = .352098, and .403877, .533894. Turns earn .352098, .755975, .352098,
1.289869: mean .687510.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes

PASSED = [[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1]]
TURNS = [-0.335412, 0.068465, -0.335412, 0.602359]


def steps(
    passed: Sequence[Sequence[float]],
    *,
    reward: Sequence[float] | None = None,
    episode: Sequence[int] | None = None,
    turn: Sequence[int] | None = None,
    group: Sequence[int] | None = None,
) -> StepTable:
    n = len(passed)
    return StepTable.from_columns(
        group=[0] * n if group is None else group, episode=range(n) if episode is None else episode,
        turn=[0] * n if turn is None else turn, anchor=range(n), action=range(n),
        reward=[0] * n if reward is None else reward,
        channels={f"test/{j}": [row[j] for row in passed] for j in range(len(passed[0]))},
    )  # fmt: skip


def test_the_worked_example() -> None:
    np.testing.assert_allclose(advantages(steps(PASSED), "verpo"), TURNS, atol=1e-6)


def test_parts_of_the_reward_and_signs_of_tampering_are_not_tests() -> None:
    table = StepTable.from_columns(
        group=[0] * 4, episode=range(4), turn=[0] * 4, anchor=range(4), action=range(4), reward=[0] * 4,
        channels={**{f"test/{j}": [row[j] for row in PASSED] for j in range(3)}, "tampering/answers": [0, 3, 0, 0],
                  "submission": [0, 0, 1, 0.5]},
    )  # fmt: skip
    np.testing.assert_allclose(advantages(table, "verpo"), TURNS, atol=1e-6)


def test_the_outcome_is_discounted_once_a_turn() -> None:
    # gamma .5: the episode of two turns with score 1 gives .25, that of one turn with 1 gives .5, the other 0: mean .25
    table = steps(PASSED, reward=[0, 1, 1, 0], episode=[0, 0, 1, 2], turn=[0, 1, 0, 0])
    found = advantages(table, "verpo", gamma=0.5)
    np.testing.assert_allclose(found, np.add(TURNS, [0, 0, 0.25, -0.25]), atol=1e-6)


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_turn_term_has_its_weight(beta: float) -> None:
    table = steps(PASSED, reward=[1, 0, 0, 1])  # .95 and 0: +-.475
    found = advantages(table, "verpo", beta=beta)
    np.testing.assert_allclose(found, np.array([0.475, -0.475, -0.475, 0.475]) + beta * np.array(TURNS), atol=1e-6)


def test_without_alpha_difficulty_does_not_matter_and_with_a_wide_sigma_tests_share_one_weight() -> None:
    # densities 3 each: 1/3 a test passed: 1/3, 2/3, 1/3, 1: mean 7/12
    found = advantages(steps(PASSED), "verpo", alpha=0.0, sigma=1e3)
    np.testing.assert_allclose(found, [-0.25, 1 / 12, -0.25, 5 / 12], atol=1e-6)


def test_with_a_narrow_sigma_the_difficulty_alone_counts() -> None:
    # alpha 2: exp(-2) = .135335, exp(-1) = .367879, exp(-.5) = .606531; turns .135335 .503215 .135335 1.109745
    found = advantages(steps(PASSED), "verpo", alpha=2.0, sigma=1e-3)
    np.testing.assert_allclose(found, [-0.335573, 0.032307, -0.335573, 0.638838], atol=1e-5)


def test_delta_is_added_to_the_density() -> None:
    # one test, passed by one of two: exp(-.5) / (1 + 1) = .303265, +- half of it
    found = advantages(steps([[1], [0]]), "verpo", delta=1.0)
    np.testing.assert_allclose(found, [0.151633, -0.151633], atol=1e-6)


def test_only_named_channels_are_tests() -> None:
    # test 1 alone: rate .5, weight exp(-.5) = .606530
    found = advantages(steps(PASSED), "verpo", tests=("test/1",))
    np.testing.assert_allclose(found, [-0.303265, 0.303265, -0.303265, 0.303265], atol=1e-6)
    with pytest.raises(CairnError, match=r"a channel 'test/7', got \['test/0', 'test/1', 'test/2'\]"):
        advantages(steps(PASSED), "verpo", tests=("test/7",))


def test_rates_are_those_of_the_task() -> None:
    # task 0: rate .5, exp(-.5) / 1 = .606530; task 1: rate .25, exp(-.25) = .778800
    table = steps([[1], [0], [1], [0], [0], [0]], group=[0, 0, 1, 1, 1, 1])
    expected = [0.303265, -0.303265, 0.584100, -0.194700, -0.194700, -0.194700]
    np.testing.assert_allclose(advantages(table, "verpo"), expected, atol=1e-6)


@pytest.mark.parametrize("passed", [0, 1])
def test_a_test_that_all_pass_or_none_moves_nothing(passed: int) -> None:
    np.testing.assert_array_equal(advantages(steps([[passed]] * 3, reward=[0.3] * 3), "verpo"), np.zeros(3))


def test_a_group_of_one_compares_its_turns_with_each_other() -> None:
    # +- half of exp(-.5)
    table = steps([[1], [0]], reward=[1, 0], episode=[0, 0], turn=[0, 1])
    np.testing.assert_allclose(advantages(table, "verpo"), [0.303265, -0.303265], atol=1e-6)


def test_a_turn_without_tests_passes_none_and_a_test_of_another_task_is_none_of_this() -> None:
    # task 0 has test 0 alone, run at one of two turns: rate .5, exp(-.5) / 1 = .606530; so has task 1, of test 1
    nan = np.nan
    found = advantages(steps([[1, nan], [nan, nan], [nan, 0], [nan, 1]], group=[0, 0, 1, 1]), "verpo")
    np.testing.assert_allclose(found, [0.303265, -0.303265, -0.303265, 0.303265], atol=1e-6)
    # run and passed by none, it is a test of the task: densities 1 + exp(-3.125) = 1.043937, so .581003 instead
    found = advantages(steps([[1, 0], [0, 0]]), "verpo")
    np.testing.assert_allclose(found, [0.290501, -0.290501], atol=1e-6)


def test_channels_of_other_names_are_not_tests() -> None:
    table = StepTable.from_columns(
        group=[0], episode=[0], turn=[0], anchor=[0], action=[0], reward=[1], channels={"submission": [1]}
    )  # fmt: skip
    with pytest.raises(CairnError, match=r"expected channels of unit tests, named 'test/...', got \['submission'\]"):
        advantages(table, "verpo")


def test_channels_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'verpo' needs channels"):
        advantages(outcomes(1, 0), "verpo")
