"""Metrics of episodes against values computed by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cairn.agents.evaluation.metrics import TaskFacts, measure
from cairn.core.store.read import EpisodeRow

ROW = EpisodeRow(
    id=1, step=0, phase="eval", env="e", task="a", split="", type="", group_id=0, seed=0, origin="policy", parent=None,
    fork_turn=None, ending="terminated", cause=None, detail="", score=0.0, success=False, reward=0.0, turns=1,
    final_anchor=None, prompt_tokens=None, reply_tokens=None, cost=None, seconds=0.0,
)  # fmt: skip


def row(task: str, score: float | None, **changes: Any) -> EpisodeRow:  # Any: fields
    success = None if score is None else score == 1.0
    return replace(ROW, task=task, score=score, success=success, reward=score or 0.0, **changes)


def test_several_attempts_at_a_task_count_as_their_mean() -> None:
    # a: 1, 0, 0, 1 -> 0.5; b: 1, 1, 1, 1 -> 1; c: 0 four times -> 0; over tasks 0.5
    found = measure(
        [row("a", s) for s in (1.0, 0.0, 0.5, 1.0)] + [row("b", 1.0)] * 4 + [row("c", 0.0)] * 4,
        {},
    )
    assert found.success is not None
    assert found.score is not None
    assert found.success.mean == pytest.approx(0.5)
    assert found.score.mean == pytest.approx((0.625 + 1 + 0) / 3)
    # pass@2 of a: 1 - C(2, 2) / C(4, 2) = 5 / 6; pass^2: C(2, 2) / C(4, 2) = 1 / 6
    assert found.pass_at[2].mean == pytest.approx((5 / 6 + 1 + 0) / 3)
    assert found.pass_hat[2].mean == pytest.approx((1 / 6 + 1 + 0) / 3)
    # best of 2 of a, whose scores are 0, 0.5, 1, 1: 6 pairs, of which 5 have a 1 and one has 0.5 as best
    assert found.best_of[2].mean == pytest.approx(((5 + 0.5) / 6 + 1 + 0) / 3)
    assert list(found.pass_at) == [1, 2, 4]
    assert (found.tasks, found.episodes) == (3, 12)


def test_failed_episodes_are_counted_by_cause_and_not_scored() -> None:
    failed = [row("a", None, ending="failed", cause=cause) for cause in ("sandbox", "model", "sandbox")]
    found = measure([*failed, row("b", 1.0)], {})
    assert dict(found.failed) == {"model": 1, "sandbox": 2}
    assert (found.tasks, found.episodes) == (1, 1)
    assert found.success is not None
    assert found.success.mean == 1.0


def test_excluded_episodes_count_as_failures_in_the_pessimistic_success() -> None:
    """Task a: 2 attempts, one solved and one failed; b: solved; c: failed. (1/2 + 1 + 0) / 3 = 1/2; 2 of 4 excluded."""
    failed = [row(task, None, ending="failed", cause="sandbox") for task in "ac"]
    found = measure([row("a", 1.0), *failed, row("b", 1.0)], {})
    assert found.success is not None
    assert found.pessimistic_success is not None
    assert (found.success.mean, found.pessimistic_success.mean, found.pessimistic_success.tasks) == (1.0, 0.5, 3)
    assert (found.excluded, found.excluded_share, found.is_final) == (2, 0.5, False)
    assert (found.to_dict()["excluded_share"], found.to_dict()["is_final"]) == (0.5, False)


@pytest.mark.parametrize(("failed", "is_final"), [(0, True), (2, True), (3, False)])
def test_a_result_is_final_with_at_most_one_episode_in_fifty_excluded(failed: int, is_final: bool) -> None:
    lost = [row(f"lost-{i}", None, ending="failed", cause="sandbox") for i in range(failed)]
    found = measure([*lost, *(row(f"{i}", 1.0) for i in range(100 - failed))], {})
    assert found.is_final is is_final
    assert found.pessimistic_success is not None
    assert found.pessimistic_success.mean == pytest.approx(1 - failed / 100)


def test_without_scored_episodes_metrics_are_none() -> None:
    found = measure([row("a", None, ending="failed", cause="model")], {})
    assert (found.success, found.score, found.turns, found.seconds) == (None, None, None, None)
    assert found.budgets == {}
    assert found.pessimistic_success is not None
    assert (found.pessimistic_success.mean, found.is_final) == (0.0, False)
    assert measure([], {}).pessimistic_success is None


def test_success_is_reported_by_type_and_difficulty_of_tasks() -> None:
    facts = {
        "a": TaskFacts(type="find", difficulty="1"),
        "b": TaskFacts(type="find", difficulty="2", can_solve=False),
        "c": TaskFacts(type="move", difficulty="2"),
    }
    found = measure([row("a", 1.0), row("b", 0.0), row("c", 1.0)], facts)
    assert {kind: each.success.mean for kind, each in found.by_type.items()} == {"find": 0.5, "move": 1.0}
    assert {kind: each.success.tasks for kind, each in found.by_difficulty.items()} == {"1": 1, "2": 2}
    assert found.ceiling == pytest.approx(2 / 3)
    assert measure([row("a", 1.0)], {}).by_difficulty == {}


def test_budget_curves_give_the_success_rate_within_each_budget() -> None:
    played = [
        row("a", 1.0, turns=3, prompt_tokens=100, reply_tokens=10, cost=0.5),
        row("b", 0.0, turns=2, prompt_tokens=100, reply_tokens=20, cost=0.25),
        row("c", 1.0, turns=8, prompt_tokens=500, reply_tokens=50, cost=2.0),
        row("d", 1.0, turns=3, prompt_tokens=90, reply_tokens=5, cost=0.5),
    ]
    found = measure(played, {})
    assert found.budgets["turns"] == ((3.0, 0.5), (8.0, 0.75))
    assert found.budgets["tokens"] == ((95.0, 0.25), (110.0, 0.5), (550.0, 0.75))
    assert found.budgets["cost"] == ((0.5, 0.5), (2.0, 0.75))
    assert (found.cost, found.prompt_tokens, found.reply_tokens) == (3.25, 790 / 4, 85 / 4)


def test_a_budget_that_some_episodes_do_not_count_has_no_curve() -> None:
    found = measure([row("a", 1.0, prompt_tokens=5), row("b", 1.0)], {})
    assert list(found.budgets) == ["turns"]
    assert found.prompt_tokens is None


def test_a_curve_of_many_budgets_is_thinned_and_keeps_its_ends() -> None:
    curve = measure([row(str(n), 1.0, turns=n) for n in range(1, 201)], {}).budgets["turns"]
    assert len(curve) == 50
    assert (curve[0], curve[-1]) == ((1.0, 0.005), (200.0, 1.0))


def test_measures_are_json() -> None:
    reported = measure([row("a", 1.0), row("a", 0.0)], {"a": TaskFacts(type="find")}).to_dict()
    assert json.loads(json.dumps(reported))["by_type"]["find"]["success"]["mean"] == 0.5


def test_turns_and_returns_that_equal_1_are_not_treated_as_shares() -> None:
    found = measure([row(str(n), 1.0, turns=1) for n in range(8)], {})
    assert found.turns is not None
    assert found.reward is not None
    assert found.success is not None
    assert (found.turns.low, found.reward.low) == (1.0, 1.0)
    assert found.success.low < 0.7
