"""Pass@k against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


@pytest.mark.parametrize(
    ("normalize", "epsilon", "best"),
    [("std", 1e-6, 1.112970), ("std", 0.640602, 0.4), ("none", 1e-6, 0.4), ("none", 1.0, 0.4)],
)
def test_the_best_has_its_lead_over_the_second_best(normalize: str, epsilon: float, best: float) -> None:
    # lead 0.4; mean 0.425, squares 0.050625 + 0.225625 + 0.005625 + 0.105625 = 0.3875 over 3, std 0.359398;
    # with the other epsilon the divisor is 1
    found = advantages(outcomes(0.2, 0.9, 0.5, 0.1), "pass_at_k", normalize=normalize, epsilon=epsilon)
    np.testing.assert_allclose(found, [0, best, 0, 0], atol=1e-6)


def test_one_success_in_four() -> None:
    # lead 1, std 0.5
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0), "pass_at_k"), [1.999996, 0, 0, 0], atol=1e-6)


def test_each_task_has_its_own_best() -> None:
    # leads 1, 0.5 and 1, in interleaved groups
    found = advantages(outcomes(1, 3, -1, 0, 2.5, -2, groups=[0, 1, 2, 0, 1, 2]), "pass_at_k", normalize="none")
    np.testing.assert_allclose(found, [1, 0.5, 1, 0, 0, 0], atol=1e-12)


def test_every_step_of_the_best_has_its_advantage() -> None:
    # scores 0.75 and 0.25
    found = advantages(table([("a", 0.5), ("b", 0.25)], [("c", 0.25)]), "pass_at_k", normalize="none")
    np.testing.assert_allclose(found, [0.5, 0.5, 0], atol=1e-12)


def test_with_a_tie_for_the_best_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(outcomes(0.7, 0.1, 0.7), "pass_at_k"), np.zeros(3))


@pytest.mark.parametrize(
    ("groups", "expected"), [([0, 1, 1], [0, 1, 0]), ([1, 0, 0], [0, 1, 0]), ([0, 1, 2], [0, 0, 0])]
)
def test_a_group_of_one_has_no_advantage(groups: list[int], expected: list[float]) -> None:
    found = advantages(outcomes(5, 1, 0, groups=groups), "pass_at_k", normalize="none")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "pass_at_k"), np.zeros(3))
