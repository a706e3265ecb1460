"""Evaluation of any agent by name: scripted ones, runs, checkpoints and plain models."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cairn.agents.agent import load_agent
from cairn.agents.evaluation.jobs import play_tasks
from cairn.agents.models.policy import load_pretrained
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.core.records import Episode
from cairn.trainer.run.result import Run
from cairn.trainer.train import train
from tests.agents.tiny import shared
from tests.trainer.test_train import DOORS, SMALL

ENV = "examples.doors:Doors"
RUN = {
    **SMALL,
    "env.id": ENV,
    "trainer.updates": 1,
    "trainer.checkpoint_every": 1,
    "eval.tasks": 2,
    "imitation.episodes": 0,
    "trainer.deterministic": False,
    "sampling.max_reply_tokens": 7,
    "agent.constrain": False,
    "learner.entropy_weight": 0.01,  # so that the weights change although no reply is right yet
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(DOORS, RUN, folder=tmp_path_factory.mktemp("run"))


def test_the_oracle_solves_everything() -> None:
    heard: list[Episode] = []
    report, episodes = play_tasks("oracle", ENV, tasks=12, on_episode=heard.append)
    assert (report.success.successes, report.success.episodes, report.mean_turns) == (12, 12, 2.0)
    assert heard == episodes
    assert [e.task.task_id for e in episodes] == [f"amber-{i}" for i in range(12)]


def test_a_constant_agent_solves_nothing() -> None:
    report, _ = play_tasks("constant:wait", ENV, tasks=5)
    assert (report.success.successes, report.mean_turns) == (0, 6.0)


def test_the_random_agent_follows_the_seed() -> None:
    def actions(seed: int) -> list[str]:
        return [t.action for e in play_tasks("random", ENV, tasks=20, seed=seed)[1] for t in e.turns]

    assert actions(1) == actions(1)
    assert actions(1) != actions(2)


def test_settings_reach_the_environment() -> None:
    report, _ = play_tasks("constant:wait", ENV, config={"turn_limit": 3}, tasks=["red-1"])
    assert report.mean_turns == 3.0


@pytest.mark.parametrize("agent", ["oracle", "random"])
def test_an_environment_that_fails_gives_failed_episodes(agent: str) -> None:
    report, episodes = play_tasks(
        agent, "tests.trainer.doomed:Doomed", config={"doom": "a"}, tasks=["amber-0", "red-0"]
    )
    assert report.failed == (1 if agent == "random" else 0)
    assert [e.is_failed for e in episodes] == [agent == "random", False]


def test_a_run_is_its_newest_checkpoint_with_its_own_settings(run: Run) -> None:
    agent = load_agent(str(run.folder))
    assert not agent.interface.constrain
    assert agent.policy is not None
    newest, first = (load_pretrained(str(run.folder / "checkpoints" / f"update-{i:06d}")).model for i in (1, 0))
    held = agent.policy.model.get_input_embeddings().weight
    assert torch.equal(held, newest.get_input_embeddings().weight)
    assert not torch.equal(held, first.get_input_embeddings().weight)
    assert (agent.sampling.max_reply_tokens, agent.sampling.max_context) == (7, 256)
    report, episodes = play_tasks(str(run.folder), ENV, tasks=4, temperature=1.0)
    assert report.success.episodes == 4
    assert max(len(t.reply_ids) for e in episodes for t in e.turns if t.reply_ids is not None) <= 7


def test_a_checkpoint_is_an_agent(run: Run) -> None:
    from_run = play_tasks(str(run.folder), ENV, tasks=4, seed=3)[1]
    from_checkpoint = play_tasks(str(run.checkpoint), ENV, tasks=4, seed=3)[1]
    assert [t.action for e in from_run for t in e.turns] == [t.action for e in from_checkpoint for t in e.turns]


def test_a_plain_model_gets_the_defaults(tmp_path: Path) -> None:
    shared().save(tmp_path)
    assert load_agent(str(tmp_path)).interface.constrain
    report, episodes = play_tasks(str(tmp_path), ENV, tasks=6, temperature=0.0)
    assert report.success.episodes == 6
    assert all(t.action in (t.observation.admissible or ()) for e in episodes for t in e.turns)


def test_a_run_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ConfigError, match="has no checkpoint yet"):
        load_agent(str(tmp_path))


def test_an_agent_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no folder"):
        play_tasks(str(tmp_path / "nothing"), ENV)


def test_tasks_that_are_not_there_are_refused() -> None:
    with pytest.raises(UnknownNameError):
        play_tasks("oracle", ENV, tasks=["pink-0"])


def test_an_environment_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'household'"):
        play_tasks("oracle", "houshold")
