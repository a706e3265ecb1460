"""Closure by hand. Two episodes of one task unless said otherwise: s0 a, s1 b, solved; s0 c, s2 d, not solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cairn.core.errors import ConfigError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantage_std, advantages
from tests.trainer.credit.golden import e2

PLAIN: dict[str, Any] = {"gamma": 1.0, "prior_actions": 0.0}
SOLVED, LOST = ["s0 a", "s1 b"], ["s0 c", "s2 d"]


def made(*episodes: Sequence[str], wins: Sequence[int] = (0,), **columns: Any) -> StepTable:
    """Return the table of episodes of steps "state action"; those in `wins` earn 1 with their last step."""
    rows = [(e, t, step.split()) for e, steps in enumerate(episodes) for t, step in enumerate(steps)]
    last = {e: len(steps) - 1 for e, steps in enumerate(episodes)}
    return StepTable.from_columns(
        group=[0] * len(rows),
        episode=[e for e, _, _ in rows],
        turn=[t for _, t, _ in rows],
        anchor=[key(state) for _, _, (state, _) in rows],
        action=[key(action) for _, _, (_, action) in rows],
        reward=[float(e in wins and t == last[e]) for e, t, _ in rows],
        **columns,
    )


def key(name: str) -> int:
    return int.from_bytes(name.encode(), "big")


def test_the_golden_vector_of_pseudo_counts() -> None:
    found = advantages(
        e2(), "closure", gamma=0.98, prior_visits=0.5, prior_actions=0.5, prior_pool=None, timeout="failure"
    )
    np.testing.assert_allclose(found[:6], [0.004456, 0.262827, -0.009894, -0.008409, 0.005199, -0.434311], atol=1e-6)


def test_without_priors_it_is_the_bellman_equation_of_the_counts() -> None:
    # V(s1) = 1, V(s2) = 0, V(s0) = 1/2
    found = advantages(made(SOLVED, LOST), "closure", **PLAIN, prior_visits=0.0)
    np.testing.assert_allclose(found, [0.5, 0, -0.5, 0], atol=1e-12)


def test_a_state_seen_once_keeps_part_of_its_credit() -> None:
    # v0 = 1/2; V(s1) = (1 + 1/2) / 2, V(s2) = (0 + 1/2) / 2, V(s0) = (3/4 + 1/4 + 1/2) / 3
    found = advantages(made(SOLVED, LOST), "closure", **PLAIN, prior_visits=1.0)
    np.testing.assert_allclose(found, [0.25, 0.25, -0.25, -0.25], atol=1e-12)


def test_an_action_tried_once_is_doubted() -> None:
    # as above, each sum of one surprise divided by 1 + 1
    found = advantages(made(SOLVED, LOST), "closure", gamma=1.0, prior_visits=1.0, prior_actions=1.0, prior_pool=None)
    np.testing.assert_allclose(found, [0.125, 0.125, -0.125, -0.125], atol=1e-12)


def test_values_of_an_action_in_other_states_count_where_it_was_tried_once() -> None:
    # s0 b, s1 b solved; s0 c, s2 d not. Surprises of b: 1/4 twice, so B(b) = 1/2 / (2 + 2); of c and d: -1/4 / (1 + 2)
    table = made(["s0 b", "s1 b"], LOST)
    found = advantages(table, "closure", gamma=1.0, prior_visits=1.0, prior_actions=1.0, prior_pool=2.0)
    b, lost = (0.25 + 0.125) / 2, (-0.25 - 0.25 / 3) / 2
    np.testing.assert_allclose(found, [b, b, lost, lost], atol=1e-12)


def test_the_value_of_a_shared_state_is_the_mean_of_its_outcomes() -> None:
    # a third episode s0 a, s1 e, lost: V(s1) = (1 + 0) / 2, V(s0) = (1/2 + 0 + 1/2) / 3
    found = advantages(made(SOLVED, LOST, ["s0 a", "s1 e"]), "closure", **PLAIN, prior_visits=0.0)
    np.testing.assert_allclose(found, [1 / 6, 1 / 2, -1 / 3, 0, 1 / 6, -1 / 2], atol=1e-12)


def test_a_task_never_solved_gives_exactly_nothing() -> None:
    np.testing.assert_array_equal(advantages(made(SOLVED, LOST, wins=()), "closure"), np.zeros(4))


def test_where_all_succeed_the_quicker_way_is_better() -> None:
    # gamma 1/2, no priors: V(s1) = 1/2; s0 direct: 1/2; s0 by s1: 1/4; V(s0) = 3/8
    table = made(["s0 a", "s1 b"], ["s0 c"], wins=(0, 1))
    found = advantages(table, "closure", gamma=0.5, prior_visits=0.0, prior_actions=0.0)
    np.testing.assert_allclose(found, [-1 / 8, 0, 1 / 8], atol=1e-12)


def test_the_value_of_an_episode_cut_by_a_budget_is_that_of_its_last_state() -> None:
    # the second episode stops in s1 after s0 c: c then leads where a leads, and both are equal
    columns: dict[str, Any] = {
        "next_anchor": [key("s1"), key("end"), key("s1")],
        "truncated": [False, False, True],
    }
    table = made(SOLVED, ["s0 c"], **columns)
    np.testing.assert_allclose(advantages(table, "closure", **PLAIN, prior_visits=0.0), [0, 0, 0], atol=1e-12)
    failed = advantages(table, "closure", **PLAIN, prior_visits=0.0, timeout="failure")
    np.testing.assert_allclose(failed, [0.5, 0, -0.5], atol=1e-12)


def test_the_value_of_an_episode_cut_in_an_unknown_state_is_the_groups_mean() -> None:
    # v0 = (1 + 0) / 2; s0 a -> s1: V(s1) = (1 + 1/2) / 2; s0 c -> unknown: 1/2; V(s0) = (3/4 + 1/2 + 1/2) / 3 = 7/12
    table = made(SOLVED, ["s0 c"], truncated=[False, False, True])
    found = advantages(table, "closure", **PLAIN, prior_visits=1.0)
    np.testing.assert_allclose(found, [3 / 4 - 7 / 12, 1 / 4, 1 / 2 - 7 / 12], atol=1e-12)


def test_the_own_episode_may_be_left_out_of_the_value() -> None:
    # V(s0) without the first: (1/4 + 1/2) / 2; without the second: (3/4 + 1/2) / 2. V(s1), V(s2) without: v0 = 1/2
    found = advantages(made(SOLVED, LOST), "closure", **PLAIN, prior_visits=1.0, leave_own_out=True)
    np.testing.assert_allclose(found, [0.375, 0.5, -0.375, -0.5], atol=1e-12)


def test_the_prior_may_be_the_value_of_a_coarser_state() -> None:
    # gamma 1/2, k 1, v0 = 1/4 / 3. By turn: V(1) = (1/2 + v0) / 4, V(0) = (3/2 V(1) + v0) / 4.
    # V(s1) = (1/2 + V(1)) / 3, V(s2) = V(1) / 2, V(s0) = (1/2 (2 V(s1) + V(s2)) + V(0)) / 4
    table = made(SOLVED, ["s0 a", "s1 e"], LOST)
    found = advantages(table, "closure", gamma=0.5, prior_visits=1.0, prior_actions=0.0, keys=("turn", "anchor"))
    np.testing.assert_allclose(found[0], 0.5 * 0.2152778 - 0.0818142, atol=1e-6)
    np.testing.assert_allclose(found[4], 0.5 * 0.0729167 - 0.0818142, atol=1e-6)


# "n" is the label of two states: after s0 it leads on to success, after s2 to failure, by the same action
ALIASED = (["s0 x", "n go"], ["s2 x", "n go"])


def test_a_key_that_means_two_states_is_split_where_outcomes_are_determined() -> None:
    table = made(*ALIASED, is_deterministic=True)
    found = advantages(table, "closure", **PLAIN, prior_visits=1.0)
    # each state alone: V(n after s0) = 3/4, V(s0) = (3/4 + 1/2) / 2
    np.testing.assert_allclose(found, [0.125, 0.25, -0.125, -0.25], atol=1e-12)


@pytest.mark.parametrize(("deterministic", "rounds"), [(False, 4), (True, 0)])
def test_a_key_is_not_split_in_a_random_environment_or_with_0_rounds(deterministic: bool, rounds: int) -> None:
    table = made(*ALIASED, is_deterministic=deterministic)
    found = advantages(table, "closure", **PLAIN, prior_visits=1.0, split_rounds=rounds)
    np.testing.assert_allclose(found, [0, 0, 0, 0], atol=1e-12)  # V(n) = 1/2 = v0: nothing sets anything apart


def test_widths_follow_from_how_much_an_episode_varies() -> None:
    # scores 1, 0 and a tenth of each end: mean 1/2, variance (1/2 + 1/20) / 2.2 = 1/4, over 2 steps an episode: 1/8.
    # every action tried once: 1/8 (0.5 + 0.4); credits +-1/4: + 0.2 / 16
    found = advantage_std(made(SOLVED, LOST), "closure", **PLAIN, prior_visits=1.0)
    np.testing.assert_allclose(found, np.sqrt(0.125 * 0.9 + 0.2 / 16), atol=1e-12)


def test_advantages_may_be_counted_in_widths() -> None:
    settings: dict[str, Any] = {**PLAIN, "prior_visits": 1.0}
    found = advantages(made(SOLVED, LOST), "closure", **settings, per_width=True)
    width = np.sqrt(0.125 * 0.9 + 0.2 / 16)
    np.testing.assert_allclose(found, np.array([0.25, 0.25, -0.25, -0.25]) / width, atol=1e-12)


def test_a_task_never_solved_is_not_certain() -> None:
    # scores 0, 0: mean 0.1 / 2.2 = 1/22, variance (2 / 484 + (1 + 441) / 4840) / 2.2 = 21/484, over 2 steps
    found = advantage_std(made(SOLVED, LOST, wins=()), "closure", **PLAIN)
    np.testing.assert_allclose(found, np.sqrt(21 / 968 * 0.9), atol=1e-12)


def test_the_greatest_score_widens() -> None:
    narrow = advantage_std(made(SOLVED, LOST, wins=()), "closure")
    wide = advantage_std(made(SOLVED, LOST, wins=()), "closure", score_range=(0.0, 10.0))
    np.testing.assert_allclose(wide, 10 * narrow, atol=1e-12)


@pytest.mark.parametrize("settings", [{"keys": ()}, {"gamma": 0.0}, {"prior_pool": 0.0}, {"prior_visits": -1.0}])
def test_settings_without_meaning_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="credit 'closure': " + next(iter(settings))):
        advantages(made(SOLVED, LOST), "closure", **settings)
