"""Credit of an update's episodes: declared parts of the reward, and the turns that the loss counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.plugin_config import PluginConfig
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.envs.base import EnvMeta
from cairn.trainer.assign_credit import CreditAssigner
from cairn.trainer.config import RunConfig
from cairn.trainer.learner.learner import loss_weights
from cairn.trainer.learner.samples import make_samples
from tests.trainer.learner.test_learner import assert_same, gradients

META = EnvMeta(is_deterministic=True, name="e", version=1, turn_limit=3, reward_range=(0, 1), summary="None.")


def episode(reward: float, *reply: int) -> Episode:
    """Return a one-turn episode of one task; its prompt is 10 11."""
    turn = Turn(
        observation=Observation(text="", anchor=0),
        reply_text="",
        action=str(reply),
        reward=reward,
        channels={"tests": reward},
        prompt_ids=np.array([10, 11], np.int32),
        reply_ids=np.array(reply, np.int32),
        reply_logprobs=np.full(len(reply), -2.0, np.float32),
    )
    task = Task(env_id="e", task_id="t")
    return Episode(task=task, group_id=0, turns=(turn,), ending=Ending.terminated(), score=reward, success=reward > 0.9)


def method(name: str) -> RunConfig:
    return RunConfig(credit=PluginConfig(method=name))


EPISODES = [episode(0.0, 20, 21), episode(0.5, 22, 23, 24, 25, 26), episode(1.0, 27, 28, 29)]


def test_the_median_episode_of_mc_grpo_leaves_the_loss_and_its_divisor() -> None:
    # median 0.5; distances -0.5 0 0.5, median distance 0.5: +-0.5 / 0.501 times 3 / 2 = 1.497006
    advantage, learned, _ = CreditAssigner(method("mc_grpo"), META).assign(EPISODES)
    np.testing.assert_allclose(advantage, [-1.497006, 0, 1.497006], atol=1e-6)
    assert learned.tolist() == [True, False, True]
    samples = make_samples(EPISODES, advantage, learned)
    # 2 + 3 tokens are kept, of 2 + 5 + 3
    assert [weights.tolist() for weights in loss_weights(samples, "token")] == [[0.2] * 2, [0.2] * 3]
    # two sequences: 1 / (2 * 2) and 1 / (3 * 2)
    np.testing.assert_allclose(np.concatenate(loss_weights(samples, "sequence")), [1 / 4] * 2 + [1 / 6] * 3)


@pytest.mark.parametrize("average", ["token", "sequence"])
@pytest.mark.parametrize("entropy_weight", [0.0, 0.1])
def test_the_gradient_is_that_of_the_batch_without_the_median_episode(average: str, entropy_weight: float) -> None:
    advantage, learned, _ = CreditAssigner(method("mc_grpo"), META).assign(EPISODES)
    found, _ = gradients(make_samples(EPISODES, advantage, learned), average=average, entropy_weight=entropy_weight)
    rest = make_samples([EPISODES[0], EPISODES[2]], advantage[[0, 2]])
    expected, _ = gradients(rest, average=average, entropy_weight=entropy_weight)
    assert_same(found, expected)
    assert max(float(gradient.abs().max()) for gradient in found) > 1e-4


def test_other_methods_learn_from_all_turns() -> None:
    _, learned, _ = CreditAssigner(method("grpo"), META).assign(EPISODES)
    assert learned.all()


def test_an_update_without_episodes_has_no_credit() -> None:
    advantage, learned, measured = CreditAssigner(method("grpo"), META).assign([])
    assert (len(advantage), len(learned), measured) == (0, 0, {})


def test_parts_of_the_reward_are_those_that_the_environment_declares() -> None:
    # one part, 0 0.5 1: std 0.5; -+0.5 / 0.5001, whose std over the batch is 0.9998: -+1, up to epsilon
    advantage, _, _ = CreditAssigner(method("gdpo"), replace(META, parts=("tests",))).assign(EPISODES)
    np.testing.assert_allclose(advantage, [-1, 0, 1], atol=1e-3)
    with pytest.raises(CairnError, match="'gdpo' needs parts"):
        CreditAssigner(method("gdpo"), replace(META, channels=("tests",))).assign(EPISODES)
