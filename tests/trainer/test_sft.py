"""Demonstrations are the oracle's successful episodes; imitation fits them, and its entropy bonus is its own."""

from __future__ import annotations

from typing import Any

import torch

from cairn.agents.agent import new_context
from cairn.agents.rollout.play import observe
from cairn.core.records import Episode
from cairn.envs.registry import make
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.sft import Imitation, demonstrations
from tests.agents.tiny import policy

HOUSES: dict[str, Any] = {"split": "gen-train", "size": "small", "num_tasks": 200, "turn_limit": 40}


def run_config(**env: Any) -> RunConfig:
    return load_run_config(
        {
            "env": {"id": "household", "config": {**HOUSES, **env}},
            "imitation": {"episodes": 30, "batch": 8},
            "learner": {"optimizer": {"lr": 1e-3}},
        }
    )


def demos(config: RunConfig) -> list[Episode]:
    return demonstrations(config, lambda: new_context(config.agent, policy(0)), lambda: None)


def test_every_turn_is_what_the_oracle_says_there() -> None:
    env = make("household", **HOUSES)
    shown = demos(run_config())
    assert len({demo.task.task_id for demo in shown}) == 30
    for demo in shown[:10]:
        observe(*env.reset(seed=demo.task.seed, options={"task": demo.task.task_id}))
        for turn in demo.turns:
            assert env.oracle("explorer") == turn.action
            env.step(turn.action)


def test_only_successful_episodes_are_shown() -> None:
    shown = demos(run_config(turn_limit=6))  # too few turns for some tasks
    assert 0 < len(shown) < 30
    assert all(demo.success for demo in shown)


def test_imitation_makes_the_demonstrations_more_likely() -> None:
    config = run_config()
    config = config.model_copy(update={"imitation": config.imitation.model_copy(update={"epochs": 4})})
    first, *_, last = list(Imitation(policy(0), demos(config), config.imitation, config).passes())
    assert last["loss"] < 0.8 * first["loss"]


def test_the_entropy_bonus_is_imitations_own_and_keeps_the_policy_open() -> None:
    config = run_config()
    shown = demos(config)[:8]

    def entropy_after(**weights: float) -> float:
        imitation = config.imitation.model_copy(
            update={"epochs": 8, "batch": 4, "entropy_weight": weights.get("imitation", 0.0)}
        )
        learner = config.learner.model_copy(update={"entropy_weight": weights.get("learner", 0.0)})
        run = config.model_copy(update={"learner": learner})
        return list(Imitation(policy(0), shown, imitation, run).passes())[-1]["entropy"]

    plain = entropy_after()
    assert entropy_after(imitation=1.0) > 1.1 * plain
    assert entropy_after(learner=1.0) == plain  # the bonus of the reinforcement that follows


def test_importance_sampling_of_the_updates_does_not_reach_imitation() -> None:
    """A demonstration has no probability under the policy that made it: weighting by one made gradients vanish."""
    config = run_config()
    capped = config.model_copy(update={"learner": config.learner.model_copy(update={"importance_cap": 2.0})})
    shown = demos(config)[:8]
    plain, other = policy(0), policy(0)
    metrics, metrics_of_capped = (
        list(Imitation(of, shown, run.imitation, run).passes()) for of, run in ((plain, config), (other, capped))
    )
    assert metrics_of_capped == metrics
    for one, two in zip(plain.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(one, two)
