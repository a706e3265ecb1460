"""Demonstrations: the expert's actions as the policy would have been shown and would have said them."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.agents.context.transcript import Transcript, TranscriptConfig
from cairn.agents.rollout.demonstrations import demonstrate
from cairn.agents.rollout.play import play
from cairn.agents.scripted import scripted
from cairn.core.records import Episode, Task
from cairn.trainer.learner.samples import make_samples
from examples.doors import Doors
from tests.agents.tiny import shared

ENCODER = shared().encoder


def played(agent: str = "oracle") -> Episode:
    env = Doors()
    return play(env, Task(env_id="doors", task_id="red-0"), scripted(agent, env))


def shown(agent: str = "oracle", *, constrain: bool) -> Episode:
    return demonstrate(played(agent), Transcript(TranscriptConfig(), ENCODER), constrain=constrain)


@pytest.mark.parametrize("constrain", [True, False])
def test_ids_are_those_of_the_context(constrain: bool) -> None:
    episode = shown(constrain=constrain)
    (sample,) = make_samples([episode], np.ones(2))
    text = "A note says: red. There is a key and 6 doors.<|act|>take key<|end|>You have the key.<|act|>open red<|end|>"
    assert ENCODER.decode(sample.ids.tolist()) == text
    assert [turn.extends_previous for turn in episode.turns] == [False, True]
    assert episode.origin == "expert"


def test_with_a_constraint_only_decisions_are_trained_on() -> None:
    (sample,) = make_samples([shown(constrain=True)], np.ones(2))
    decided = [ENCODER.decode([int(sample.ids[place])]) for place in sample.positions]
    assert [text.strip() for text in decided] == ["take", "red"]
    assert sample.allowed.sizes.tolist() == [2, 6]
    assert sample.old_logprobs.tolist() == [0.0, 0.0]


def test_without_a_constraint_every_reply_token_is_trained_on() -> None:
    (sample,) = make_samples([shown(constrain=False)], np.ones(2))
    replies = sum(len(turn.reply_ids) for turn in shown(constrain=False).turns if turn.reply_ids is not None)
    assert len(sample.positions) == replies
    assert len(sample.allowed.ids) == 0


def test_an_action_that_is_not_admissible_is_shown_without_a_constraint() -> None:
    episode = shown("constant:sing", constrain=True)
    assert all(turn.constraint is None for turn in episode.turns)
