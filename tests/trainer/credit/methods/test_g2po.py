"""G2PO against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.golden import e2, e2_rows, paths


def step_term(table: StepTable, **settings: Any) -> Floats:
    return advantages(table, "g2po", **{"episode_weight": 0.0, "success_reward": 1.0, **settings})


# gamma 0.95, success 1: V(u) = (0.95 + 0 + 0.95) / 3 = 0.633333, V(w) = 0, V(s0) = (0.9025 + 0 + 0.9025) / 3 = 0.601667
# first: s0: 0.633333, 0: 0.211111, -0.422222; u: 1, 0: 0.333333, -0.666667; w: 0, 0.633333: -0.316667, 0.316667
# gains: 0.031667 0.366667 | -0.601667 0 0.633333 -0.633333: mean of the eight steps 0.024375
FIRST = np.array(e2_rows(0.211111, 0.333333, -0.422222, -0.316667, 0.316667, -0.666667))
SECOND = np.array(e2_rows(0.007292, 0.342292, -0.626042, -0.024375, 0.608958, -0.657708))


def test_the_golden_table() -> None:
    expected = e2_rows(0.593479, 1.334567, -2.539627, -0.761028, 2.054243, -2.609681)
    np.testing.assert_allclose(step_term(e2()), expected, atol=1e-5)


def test_the_two_parts_without_division() -> None:
    np.testing.assert_allclose(step_term(e2(), normalize="none"), FIRST + SECOND, atol=2e-6)


def test_success_is_that_of_the_table_and_earns_the_configured_reward() -> None:
    found = advantages(e2(3.0), "g2po", episode_weight=0.0, normalize="none")
    np.testing.assert_allclose(found, 10 * (FIRST + SECOND), atol=2e-5)


def test_gamma_is_the_discount_of_a_step() -> None:
    # gamma 0.5: V: u 1/3, w 0, s0 1/6. Gains: 1/6 2/3 | -1/6 0 1/3 -1/3: mean 3/16. Row 2.0: -2/9 and -1/6 - 3/16
    found = step_term(e2(), normalize="none", gamma=0.5)
    assert found[2] == pytest.approx(-2 / 9 - 1 / 6 - 3 / 16, abs=1e-12)


def test_an_invalid_reply_is_penalized_in_the_first_part() -> None:
    # Row 2.1: 0 - 0.2 against 0.633333: -+0.416667 instead of -+0.316667
    table = e2()
    valid = np.ones(8, np.bool_)
    valid[3] = False
    found = step_term(replace(table, valid=valid), normalize="none", invalid_penalty=0.2)
    expected = FIRST + SECOND + np.array([0, 0, 0, -0.1, 0.1, 0, 0, 0])
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("timeout", "rows"),
    [
        # V(u) = 0.95, V(s) = (0.9025 + 0) / 2 = 0.45125. b leads to failure: first 0.475, 0, -0.475;
        # gains 0.49875, 0.05, -0.45125, mean 0.0325
        ("failure", [0.94125, 0.0175, -0.95875]),
        # b leads to u: nothing to compare; gains 0.49875, 0.05, 0.49875, mean 0.349167
        ("open", [0.149583, -0.299167, 0.149583]),
    ],
)
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    found = step_term(paths("s a u c +", "s b u"), normalize="none", timeout=timeout)
    np.testing.assert_allclose(found, rows, atol=1e-6)


def test_a_success_cut_by_a_budget_is_a_success() -> None:
    # V(s) = 0.475: lands at 1 and 0, first 0.5 and -0.5; gains 0.525, -0.475, and 0.05 from u: mean 1/30
    cut = paths("s a u", "s b -", "u c +")
    found = step_term(replace(cut, success=cut.truncated | cut.success), normalize="none", timeout="open")
    np.testing.assert_allclose(found, [0.5 + 0.525 - 1 / 30, -0.5 - 0.475 - 1 / 30, 0.05 - 1 / 30], atol=1e-12)


def test_states_of_equal_value_are_equal_despite_rounding() -> None:
    # From s to p, which succeeds once in four, and to q, three times in twelve: the sums round differently
    table = paths(*(f"s a p c {end}" for end in "+---"), *(f"s b q c {end}" for end in "+++---------"))
    found = step_term(table)[::2]
    np.testing.assert_array_equal(found, np.full(16, found[0]))


def test_without_a_success_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(paths("s a u c -", "s b u e -"), "g2po"), np.zeros(4))


def test_a_lone_episode_is_compared_with_itself() -> None:
    # V: u 0.95, s 0.9025: gains 0.0475, 0.05; mean 0.04875, std 0.001768
    found = step_term(paths("s a u b +"))
    np.testing.assert_allclose(found, [-0.706707, 0.706707], atol=1e-5)
    np.testing.assert_allclose(step_term(paths("s a u b +"), normalize="none"), [-0.00125, 0.00125], atol=1e-12)


def test_each_task_is_compared_with_itself() -> None:
    table = paths("s a +", "s b -", "s a -", "s b -", groups=[0, 0, 1, 1])
    np.testing.assert_allclose(step_term(table, normalize="none"), [1, -1, 0, 0], atol=1e-12)


@pytest.mark.parametrize(("normalize", "rows"), [("std", [0.577349, -1.154699]), ("none", [1 / 3, -2 / 3])])
def test_the_episode_term_is_grpos(normalize: str, rows: list[float]) -> None:
    found = advantages(e2(), "g2po", step_weight=0.0, normalize=normalize)
    np.testing.assert_allclose(found, e2_rows(*[rows[0]] * 2, *[rows[1]] * 4), atol=1e-5)


def test_the_terms_add_up_with_their_weights() -> None:
    found = advantages(e2(), "g2po", normalize="none", success_reward=1.0, step_weight=2.0, episode_weight=3.0)
    np.testing.assert_allclose(found, 2 * (FIRST + SECOND) + e2_rows(1, 1, -2, -2, -2, -2), atol=4e-6)
