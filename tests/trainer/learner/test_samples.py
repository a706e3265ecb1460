"""Episodes as token sequences: one test a situation, the expected lists under their role labels.

p: prompt, r: a decided reply token, f: a reply token that the constraint forced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cairn.agents.constraint import pack
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.trainer.learner.samples import Sample, make_samples

Allowed = Sequence[Sequence[int]]


def turn(
    prompt: Sequence[int],
    reply: Sequence[int],
    logprobs: Sequence[float],
    *,
    extends: bool = False,
    allowed: Allowed | None = None,
) -> Turn:
    return Turn(
        observation=Observation(text="", anchor=0),
        reply_text="",
        action="go",
        reward=0.0,
        prompt_ids=np.array(prompt, np.int32),
        extends_previous=extends,
        reply_ids=np.array(reply, np.int32),
        reply_logprobs=np.array(logprobs, np.float32),
        constraint=None if allowed is None else pack(allowed),
    )


def episode(*turns: Turn) -> Episode:
    task = Task(env_id="e", task_id="t")
    return Episode(task=task, group_id=0, turns=turns, ending=Ending.terminated(), score=1.0, success=True)


UNLISTED = ("allowed", "group", "versions", "sampled_logprobs", "is_weights")


def lists(sample: Sample) -> dict[str, list[float]]:
    listed = {name: getattr(sample, name).tolist() for name in Sample.__dataclass_fields__ if name not in UNLISTED}
    return {**listed, "choice_ids": sample.allowed.ids.tolist(), "choice_offsets": sample.allowed.offsets.tolist()}


def test_one_free_turn() -> None:
    (sample,) = make_samples([episode(turn([10, 11], [20, 21, 2], [-0.5, -0.25, -1.0]))], np.array([3.0]))
    assert lists(sample) == {
        #                  p   p   r   r   r
        "ids":            [10, 11, 20, 21, 2],
        "positions":         [        2,  3,  4],
        "old_logprobs":   [      -0.5, -0.25, -1.0],
        "advantages":     [        3,  3,  3],
        "turns":          [        0,  0,  0],
        "choice_ids":     [],
        "choice_offsets": [0,      0,  0,  0],
    }  # fmt: skip


def test_positions_have_the_version_of_their_weights_and_the_weight_1() -> None:
    first = replace(turn([10], [20, 21], [-0.5, -0.25]), policy_version=7)
    second = turn([12], [22], [-0.75], extends=True)
    (sample,) = make_samples([episode(first, second)], np.array([1.0, 1.0]))
    assert sample.versions is not None
    assert sample.versions.tolist() == [7, 7, -1]
    assert sample.loss_factors.tolist() == [1.0, 1.0, 1.0]
    assert replace(sample, is_weights=np.array([0.5, 1.0, 2.0])).loss_factors.tolist() == [0.5, 1.0, 2.0]


def test_two_turns_of_a_transcript_with_a_forced_token() -> None:
    first = turn([10, 11], [20, 21], [-0.5, 0.0], allowed=[[20, 30], [21]])
    second = turn([12], [22, 23], [-0.25, -0.75], extends=True)
    (sample,) = make_samples([episode(first, second)], np.array([1.0, -2.0]))
    assert lists(sample) == {
        #                  p   p   r   f   p   r   r
        "ids":            [10, 11, 20, 21, 12, 22, 23],
        "positions":         [        2,          5,  6],
        "old_logprobs":   [      -0.5,     -0.25, -0.75],
        "advantages":     [        1,         -2, -2],
        "turns":          [        0,          1,  1],
        "choice_ids":     [        20, 30],
        "choice_offsets": [0,          2,      2,  2],
    }  # fmt: skip


def test_prompts_that_are_rebuilt_give_a_sequence_each() -> None:
    first, second = turn([10], [20], [-0.5]), turn([10, 20, 11], [21], [-0.25])
    samples = make_samples([episode(first, second)], np.array([1.0, 2.0]))
    assert [lists(sample) for sample in samples] == [
        {
            #                  p   r
            "ids":            [10, 20],
            "positions":         [    1],
            "old_logprobs":   [   -0.5],
            "advantages":     [    1],
            "turns":          [    0],
            "choice_ids":     [],
            "choice_offsets": [0,  0],
        },
        {
            #                  p   p   p   r
            "ids":            [10, 20, 11, 21],
            "positions":         [            3],
            "old_logprobs":   [          -0.25],
            "advantages":     [            2],
            "turns":          [            0],
            "choice_ids":     [],
            "choice_offsets": [0,          0],
        },
    ]  # fmt: skip


def test_a_sequence_of_forced_tokens_is_left_out_and_shifts_no_advantage() -> None:
    forced = turn([10], [20, 2], [0.0, 0.0], allowed=[[20], [2]])
    decided = turn([11], [21, 2], [-0.5, 0.0], allowed=[[20, 21, 22], [2]])
    (sample,) = make_samples([episode(forced), episode(decided)], np.array([7.0, 3.0]))
    assert lists(sample) == {
        #                  p   r   f
        "ids":            [11, 21, 2],
        "positions":         [    1],
        "old_logprobs":   [   -0.5],
        "advantages":     [    3],
        "turns":          [    0],
        "choice_ids":     [    20, 21, 22],
        "choice_offsets": [0,          3],
    }  # fmt: skip


def test_a_forced_turn_in_the_midst_of_a_transcript_is_context() -> None:
    first = turn([10], [20], [0.0], allowed=[[20]])
    second = turn([11], [21], [-0.5], extends=True, allowed=[[21, 22]])
    (sample,) = make_samples([episode(first, second)], np.array([7.0, 3.0]))
    assert lists(sample) == {
        #                  p   f   p   r
        "ids":            [10, 20, 11, 21],
        "positions":         [            3],
        "old_logprobs":   [          -0.5],
        "advantages":     [            3],
        "turns":          [            1],
        "choice_ids":     [            21, 22],
        "choice_offsets": [0,              2],
    }  # fmt: skip


def test_a_turn_that_is_not_learned_is_context_of_later_turns() -> None:
    first, second = turn([10], [20, 21], [-0.5, -0.25]), turn([11], [22], [-1.0], extends=True, allowed=[[22, 23]])
    (sample,) = make_samples([episode(first, second)], np.array([7.0, 3.0]), np.array([False, True]))
    assert lists(sample) == {
        #                  p   c   c   p   r
        "ids":            [10, 20, 21, 11, 22],
        "positions":         [                 4],
        "old_logprobs":   [              -1.0],
        "advantages":     [                 3],
        "turns":          [                 1],
        "choice_ids":     [            22, 23],
        "choice_offsets": [0,               2],
    }  # fmt: skip
    (sample,) = make_samples([episode(first, second)], np.array([7.0, 3.0]), np.array([True, False]))
    assert (sample.positions.tolist(), sample.context.tolist()) == ([1, 2], [10, 20])


def test_an_episode_that_is_not_learned_gives_no_sequence_and_shifts_no_advantage() -> None:
    one, two, three = (episode(turn([10], [20 + i], [-0.5])) for i in range(3))
    samples = make_samples([one, two, three], np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    assert [(s.ids.tolist(), s.advantages.tolist()) for s in samples] == [([10, 20], [1.0]), ([10, 22], [3.0])]


def test_a_transcript_is_never_merged_with_the_next_episode() -> None:
    one, two = turn([10], [20], [-0.5]), turn([10], [21], [-0.5])
    samples = make_samples([episode(one), replace(episode(two), group_id=3)], np.array([1.0, 2.0]))
    assert [sample.group for sample in samples] == [0, 3]
    assert [sample.ids.tolist() for sample in samples] == [[10, 20], [10, 21]]


def test_an_episode_without_turns_gives_nothing() -> None:
    assert make_samples([episode()], np.array([])) == []


@pytest.mark.parametrize("count", [0, 2])
def test_advantages_are_one_a_turn(count: int) -> None:
    with pytest.raises(ValueError, match=f"one advantage for each of 1 turns, got {count}"):
        make_samples([episode(turn([10], [20], [-0.5]))], np.zeros(count))


def test_a_turn_without_ids_cannot_be_trained_on() -> None:
    bare = Turn(observation=Observation(text="", anchor=0), reply_text="go", action="go", reward=0.0)
    with pytest.raises(ValueError, match="without token ids"):
        make_samples([episode(bare)], np.array([1.0]))


def test_tokens_after_the_last_decision_are_not_computed() -> None:
    constrained = turn([10, 11], [20, 21, 2], [-0.5, 0.0, 0.0], allowed=[[20, 30], [21], [2]])
    (sample,) = make_samples([episode(constrained)], np.array([1.0]))
    assert sample.context.tolist() == [10, 11]  # the state behind 11 predicts 20
    assert [ids.tolist() for ids in sample.allowed.split()] == [[20, 30]]


def test_choices_of_free_and_constrained_places() -> None:
    first, second = (
        turn([10], [20], [-0.5]),
        turn([12], [22, 23], [-0.25, -0.75], extends=True, allowed=[[22, 9], [23, 8]]),
    )
    (sample,) = make_samples([episode(first, second)], np.array([1.0, 1.0]))
    assert [ids.tolist() for ids in sample.allowed.split()] == [[], [22, 9], [23, 8]]
