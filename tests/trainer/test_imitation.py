"""Demonstrations: with noise the oracle is led astray, gets back, and only its own turns are imitated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cairn.agents.evaluate import new_context
from cairn.agents.play import observe
from cairn.envs.registry import make
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.imitation import Demonstration, demonstrations, imitate
from tests.agents.tiny import policy

HOUSES: dict[str, Any] = {"split": "gen-train", "size": "small", "num_tasks": 200, "turn_limit": 40}


def run_config(noise: float) -> RunConfig:
    return load_run_config(
        {
            "env": {"id": "household", "config": HOUSES},
            "imitation": {"episodes": 30, "noise": noise, "batch": 8},
            "learner": {"optimizer": {"lr": 1e-3}},
        }
    )


def demos(config: RunConfig) -> list[Demonstration]:
    return demonstrations(config, lambda: new_context(config.agent, policy(0)), lambda: None)


def test_without_noise_every_turn_is_the_oracles() -> None:
    assert all(demo.is_expert_T.all() for demo in demos(run_config(0.0)))


def test_the_share_of_strayed_turns_is_the_noise_and_the_oracle_gets_back() -> None:
    shown = demos(run_config(0.3))
    strayed = 1 - np.concatenate([demo.is_expert_T for demo in shown])
    assert strayed.mean() == pytest.approx(0.3, abs=0.08)
    assert len(shown) >= 28
    assert all(demo.episode.success for demo in shown)


def test_turns_marked_as_the_oracles_are_what_it_says_there() -> None:
    env = make("household", **HOUSES)
    for demo in demos(run_config(0.3))[:10]:
        task = demo.episode.task
        observe(*env.reset(seed=task.seed, options={"task": task.task_id}))
        for turn, is_expert in zip(demo.episode.turns, demo.is_expert_T, strict=True):
            if is_expert:
                assert env.oracle("explorer") == turn.action
            env.step(turn.action)


def test_the_entropy_bonus_is_imitations_own_and_keeps_the_policy_open() -> None:
    config = run_config(0.0)
    shown = demos(config)[:8]

    def entropy_after(**weights: float) -> float:
        imitation = config.imitation.model_copy(
            update={"epochs": 8, "batch": 4, "entropy_weight": weights.get("imitation", 0.0)}
        )
        learner = config.learner.model_copy(update={"entropy_weight": weights.get("learner", 0.0)})
        run = config.model_copy(update={"learner": learner})
        return list(imitate(policy(0), shown, imitation, run))[-1]["entropy"]

    plain = entropy_after()
    assert entropy_after(imitation=1.0) > 1.1 * plain
    assert entropy_after(learner=1.0) == plain  # the bonus of the reinforcement that follows


def test_what_was_done_by_chance_has_no_gradient() -> None:
    config = run_config(0.3)
    shown = demos(config)
    fitted = policy(0)
    before = [weights.clone() for weights in fitted.model.parameters()]
    none = [Demonstration(demo.episode, np.zeros_like(demo.is_expert_T)) for demo in shown]
    list(imitate(fitted, none, config.imitation, config))
    assert all(torch.equal(a, b) for a, b in zip(before, fitted.model.parameters(), strict=True))
    list(imitate(fitted, shown, config.imitation, config))
    assert not all(torch.equal(a, b) for a, b in zip(before, fitted.model.parameters(), strict=True))
