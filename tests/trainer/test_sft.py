"""Demonstrations are the oracle's successful episodes; imitation fits them, and its entropy bonus is its own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from cairn.agents.agent import contexts
from cairn.agents.rollout.play import observe
from cairn.core.errors import CairnError
from cairn.core.records import Episode
from cairn.core.store import RunStore
from cairn.envs.registry import make
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.sft import Imitation, demonstrations, environment_texts
from cairn.trainer.train import train
from examples.doors import Doors
from tests.agents.tiny import policy, shared

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
    return demonstrations(config, contexts(config.agent, shared()))


def test_every_turn_has_the_oracles_action() -> None:
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


@pytest.mark.rotating(3)
def test_imitation_makes_the_demonstrations_more_likely() -> None:
    config = run_config()
    config = config.model_copy(update={"imitation": config.imitation.model_copy(update={"epochs": 4})})
    first, *_, last = list(Imitation(policy(0), demos(config), config.imitation, config).passes())
    assert last["loss"] < 0.8 * first["loss"]


@pytest.mark.rotating(5)
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


class FailsOnce(Doors):
    """Each red task fails when it is first played."""

    seen: ClassVar[set[str]] = set()

    def start(self, task_id: str, rng: random.Random) -> str:
        if task_id.startswith("red") and task_id not in self.seen:
            self.seen.add(task_id)
            raise ConnectionError("not yet")
        return super().start(task_id, rng)


class HasNoRed(Doors):
    """Red tasks fail each time, some as they begin and some at the oracle."""

    def start(self, task_id: str, rng: random.Random) -> str:
        if task_id.startswith("red-1"):
            raise SystemExit("no red paint")
        return super().start(task_id, rng)

    def oracle_action(self, name: str) -> str:
        if self.goal == "red":
            raise KeyError("red")
        return super().oracle_action(name)


def doors_config(env: type[Doors], **trainer: float) -> RunConfig:
    return load_run_config(
        {
            "env": {"id": f"tests.trainer.test_sft:{env.__name__}"},
            "model": {"preset": "qwen3-nano", "vocab_size": 300},
            "imitation": {"episodes": 300, "epochs": 1, "oracle": "reader"},
            "trainer": {"updates": 0, **trainer},
            "eval": {"holdout": 0.0, "tasks": 2},
        }
    )


def red(episodes: list[Episode]) -> int:
    return sum(episode.task.task_id.startswith("red") for episode in episodes)


def test_an_episode_that_fails_is_played_again() -> None:
    FailsOnce.seen.clear()
    shown = demos(doors_config(FailsOnce, retries=1))
    assert (len(shown), red(shown)) == (300, 50)
    assert len(FailsOnce.seen) == 50
    FailsOnce.seen.clear()
    assert red(demos(doors_config(FailsOnce, retries=0))) == 0


def test_episodes_that_fail_again_are_left_out_and_noted(tmp_path: Path) -> None:
    config = doors_config(HasNoRed, retries=0)
    shown = demos(config)
    assert (len(shown), red(shown)) == (250, 0)
    texts, _ = environment_texts(config, HasNoRed().tasks())
    assert texts
    assert not any(text.startswith("A note says: red") for text in texts[::2])
    train(config, {}, folder=tmp_path)
    with RunStore.read(tmp_path) as store:
        notes = [text for (text,) in store.rows("SELECT text FROM events WHERE kind = 'failed'")]
    assert len(notes) == 50
    assert all(note.startswith("a demonstration of task 'red-") for note in notes)
    assert {"SystemExit: no red paint (in reset())", "KeyError: 'red' (in oracle())"} == {
        note.partition("raised: ")[2] for note in notes
    }


def test_too_many_failures_end_the_warm_start_and_the_corpus() -> None:
    config = doors_config(HasNoRed, max_failed_share=0.1)
    with pytest.raises(CairnError, match=r"50 of 300 episodes failed, more than trainer\.max_failed_share allows; the"):
        demos(config)
    with pytest.raises(CairnError, match="of 200 episodes failed"):
        environment_texts(config, HasNoRed().tasks())
