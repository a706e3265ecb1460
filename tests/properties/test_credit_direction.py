"""The expected update of every credit method points along the exact policy gradient where its assumptions hold.

Each world is small enough for exact gradients (`benchmarks.credit.mdp`). In each, the policy decides when to stop.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from cairn.benchmarks.credit.mdp import MDP, DecisionRules, evaluate, tabulate
from cairn.benchmarks.credit.rollouts import sample
from cairn.core.plugins import CREDITS
from cairn.core.table import Floats
from cairn.trainer.credit import advantages
from cairn.trainer.credit.base import Assumption, Credit

TURNS, WAY = 6, 4
GROUPS, SIZE = 600, 8
LEAST = 0.1  # cosine
UNFULFILLED: dict[str, tuple[Assumption, ...]] = {  # worlds, and the assumptions that are false in them
    "earns on the way": ("a terminal reward",),
    "pays for each turn": ("a terminal reward", "scores of 0 or more"),
    "pays for each turn to a goal": ("a terminal reward", "scores of 0 or more"),
    "earns at the end": (),
}


def is_measured(name: str) -> bool:
    """Whether a method needs nothing but anchors, actions and rewards."""
    credit: Credit[Any] = CREDITS.load(name)
    settings = credit.config()
    return not (credit.needs or credit.channels(settings) or credit.parts(settings))


METHODS = [name for name in CREDITS.ids() if is_measured(name)]


def rules(world: str) -> DecisionRules:
    """Return a world of up to twelve turns; the policy can stop at each of them."""
    if world == "earns on the way":  # stopping earns something too, so that every episode is a success
        return DecisionRules(
            start=0,
            actions=lambda _: ["go", "stop"],
            outcomes=lambda s, a: [(1.0, None, 0.5, True)] if a == "stop" else [(1.0, s + 1, 1.0, s + 1 == TURNS)],
            horizon=TURNS,
        )
    if world == "pays for each turn":
        return DecisionRules(
            start=0,
            actions=lambda _: ["go", "stop"],
            outcomes=lambda s, a: [(1.0, None, 0.0, True)] if a == "stop" else [(1.0, s + 1, -0.2, s + 1 == TURNS)],
            horizon=TURNS,
        )
    cost = -0.1 if world == "pays for each turn to a goal" else 0.0
    return DecisionRules(
        start=0,
        actions=lambda _: ["go", "wait", "stop"],
        outcomes=lambda s, a: {
            "go": [(1.0, s + 1, cost + (s + 1 == WAY), s + 1 == WAY)],
            "wait": [(1.0, s, cost, False)],
            "stop": [(1.0, None, 0.0, True)],
        }[a],
        horizon=3 * WAY,
    )


@cache
def problem(world: str) -> tuple[MDP, Floats]:
    """Return the world and the probabilities of a random policy, [S, A]."""
    mdp = tabulate(rules(world))
    logits = np.where(mdp.exists, np.random.default_rng(5).normal(0, 0.5, mdp.action.shape), -np.inf)
    weights = np.exp(logits)
    return mdp, weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)


def cosine(method: str, world: str) -> float:
    """Return the cosine of the mean of ``sum_rows A grad log pi`` over many groups and the exact policy gradient."""
    mdp, policy = problem(world)
    exact, rows = evaluate(mdp, policy), sample(mdp, policy, GROUPS, SIZE, seed=0)
    advantage = advantages(rows.table, method)[rows.table.order]
    state, choice = rows.state[rows.table.order], rows.choice[rows.table.order]
    taken = np.bincount(state * policy.shape[1] + choice, advantage, policy.size).reshape(policy.shape)
    update = taken - policy * np.bincount(state, advantage, len(policy))[:, None]
    lengths = np.linalg.norm(update) * np.linalg.norm(exact.gradient_SA)
    return float((update * exact.gradient_SA).sum() / lengths) if lengths > 1e-12 else 0.0


@pytest.mark.rotating(3)
@pytest.mark.parametrize("world", UNFULFILLED)
@pytest.mark.parametrize("method", METHODS)
def test_the_expected_update_points_along_the_policy_gradient(method: str, world: str) -> None:
    credit: Credit[Any] = CREDITS.load(method)
    if set(credit.assumes) & set(UNFULFILLED[world]):
        pytest.skip(f"assumes {', '.join(credit.assumes)}")
    assert cosine(method, world) > LEAST


def test_methods_that_assume_a_terminal_reward_are_led_astray_without_one() -> None:
    """Else a method would be refused for nothing."""
    for method in METHODS:
        if "a terminal reward" in CREDITS.load(method).assumes:
            assert cosine(method, "earns on the way") < -0.9
            assert cosine(method, "earns at the end") > 0.8


@pytest.mark.parametrize("method", ["grpo", "rloo", "gigpo"])
def test_baselines_of_whole_returns_are_nearly_exact(method: str) -> None:
    assert all(cosine(method, world) > 0.9 for world in UNFULFILLED)
