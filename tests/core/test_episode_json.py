"""Episodes survive JSON to the bit."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from cairn.core.episode_json import (
    episode_from_json,
    episode_to_json,
    observation_from_json,
    observation_to_json,
    turn_from_json,
    turn_to_json,
)
from cairn.core.records import Constraint, Ending, Episode, Observation, Task, Turn

SEEN = Observation(
    text="a \ud800 \u2028 \0 line",
    anchor=2**64 - 1,
    admissible=("go", ""),
    image=b"\x89PNG\xff\0",
    tools=({"name": "f"},),
    max_calls=16,
    takes_text=True,
    results=("2", ""),
)
TURN = Turn(
    observation=SEEN,
    reply_text="go\udcff",
    action="go",
    reward=0.1 + 0.2,
    is_valid=False,
    channels={"tests": 1 / 3},
    prompt_ids=np.array([5, 2**31 - 1], np.int32),
    extends_previous=True,
    reply_ids=np.array([7, 8, 9], np.int32),
    reply_logprobs=np.array([-0.1, np.float32(-1e-30), -np.inf], np.float32),
    constraint=Constraint(ids=np.array([7, 8, 1, 9], np.int32), offsets=np.array([0, 1, 3, 4], np.int32)),
    policy_version=3,
    seconds=1e-9,
    acted=(-3, 0, 40, 12),
)
BARE = Turn(observation=Observation(text="", anchor=0), reply_text="", action="", reward=0.0)
EPISODE = Episode(
    task=Task(env_id="e", task_id="t/\u00e9", split="s", seed=9),
    group_id=4,
    turns=(TURN, BARE),
    ending=Ending.truncated("time"),
    score=0.1,
    success=False,
    final=SEEN,
    origin="spliced",
    parent="p",
    fork_turn=1,
)


def without_arrays(turn: Turn) -> Turn:
    return replace(turn, prompt_ids=None, reply_ids=None, reply_logprobs=None, constraint=None)


def through_json(episode: Episode) -> Episode:
    return episode_from_json(json.loads(json.dumps(episode_to_json(episode))))


@pytest.mark.parametrize("turn", [TURN, BARE])
def test_a_turn_survives_json_unchanged(turn: Turn) -> None:
    back = turn_from_json(json.loads(json.dumps(turn_to_json(turn))))
    for name in ("prompt_ids", "reply_ids", "reply_logprobs"):
        wanted, found = getattr(turn, name), getattr(back, name)
        assert (wanted is None) == (found is None)
        if wanted is not None:
            assert found.dtype == wanted.dtype
            assert found.tobytes() == wanted.tobytes()
    if turn.constraint is not None:
        assert back.constraint is not None
        assert back.constraint.ids.tobytes() == turn.constraint.ids.tobytes()
        assert back.constraint.offsets.tobytes() == turn.constraint.offsets.tobytes()
    assert without_arrays(back) == without_arrays(turn)


def test_an_episode_survives_json_unchanged() -> None:
    assert replace(through_json(EPISODE), turns=()) == replace(EPISODE, turns=())
    assert len(through_json(EPISODE).turns) == 2


def test_an_observation_of_before_lists_of_calls_can_be_read() -> None:
    old = observation_to_json(SEEN)
    for name in ("max_calls", "takes_text", "results"):
        del old[name]
    assert observation_from_json(old) == replace(SEEN, max_calls=1, takes_text=False, results=())


def test_a_failed_episode_stays_unscored() -> None:
    failed = Episode(
        task=EPISODE.task, group_id=0, turns=(), ending=Ending.failed("model", "gone"), score=None, success=None
    )
    assert through_json(failed) == failed
