"""Records reject inconsistent fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from cairn.core.records import Constraint, Ending, Episode, Observation, Task, Turn

SEEN = Observation(text="a desk", anchor=1)
TASK = Task(env_id="household", task_id="t")


def ids(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, np.int32)


def turn(reward: float = 0.0) -> Turn:
    return Turn(observation=SEEN, reply_text="look", action="look", reward=reward)


def test_records_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        TASK.task_id = "other"  # type: ignore[misc]  # the fault


def test_a_turn_has_a_logprob_per_reply_id() -> None:
    with pytest.raises(ValueError, match="2 reply ids but 1 logprobs"):
        Turn(
            observation=SEEN, reply_text="", action="", reward=0.0,
            reply_ids=ids(1, 2), reply_logprobs=np.zeros(1, np.float32),
        )  # fmt: skip


def test_a_constraint_covers_every_reply_id() -> None:
    choices = Constraint(ids=ids(1, 2, 3), offsets=ids(0, 2, 3))
    Turn(observation=SEEN, reply_text="", action="", reward=0.0, reply_ids=ids(1, 3), constraint=choices)
    with pytest.raises(ValueError, match="1 reply ids but a constraint over 2 positions"):
        Turn(observation=SEEN, reply_text="", action="", reward=0.0, reply_ids=ids(1), constraint=choices)


@pytest.mark.parametrize("offsets", [(), (1, 3), (0, 2), (0, 4)])
def test_offsets_run_over_all_choices(offsets: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="offsets must run from 0 to 3"):
        Constraint(ids=ids(1, 2, 3), offsets=ids(*offsets))


def test_the_total_reward_is_the_sum_over_turns() -> None:
    turns = (turn(0.5), turn(-0.25))
    episode = Episode(task=TASK, group_id=0, turns=turns, ending=Ending.terminated(), score=1.0, success=True)
    assert episode.total_reward == 0.25
    assert not episode.is_failed


@pytest.mark.parametrize(
    ("ending", "score", "success"),
    [
        (Ending.terminated(), None, True),
        (Ending.truncated("turns"), 0.0, None),
        (Ending.failed("environment", "it died"), 0.0, False),
    ],
)
def test_only_a_failed_episode_has_no_score(ending: Ending, score: float | None, success: bool | None) -> None:
    with pytest.raises(ValueError, match="A failed episode has no score"):
        Episode(task=TASK, group_id=0, turns=(), ending=ending, score=score, success=success)


def test_a_failed_episode_is_known_as_such() -> None:
    ending = Ending.failed("sandbox", "x" * 5000)
    assert len(ending.detail) == 2000
    assert Episode(task=TASK, group_id=0, turns=(), ending=ending, score=None, success=None).is_failed
