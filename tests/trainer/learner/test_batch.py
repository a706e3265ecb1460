"""Samples as tensors: the expected lists under their role labels, and the cut into micro-batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.records import Constraint
from cairn.trainer.learner.batch import Batch, make_batch, micro_batches
from cairn.trainer.learner.samples import Sample

CPU = torch.device("cpu")


def sample(ids: list[int], places: list[int], choices: list[list[int]] | None = None) -> Sample:
    allowed = choices if choices is not None else [[] for _ in places]
    return Sample(
        ids=np.array(ids, np.int32),
        positions=np.array(places, np.int32),
        old_logprobs=np.linspace(-0.5, -0.5 * len(places), len(places)),
        advantages=np.full(len(places), float(len(ids))),
        turns=np.arange(len(places), dtype=np.int32) // 2 * 2,
        group=ids[0],
        allowed=Constraint(
            ids=np.array([i for c in allowed for i in c], np.int32),
            offsets=np.cumsum([0, *map(len, allowed)]).astype(np.int32),
        ),
    )


def lists(batch: Batch) -> dict[str, list[float]]:
    tensors = {name: getattr(batch, name) for name in Batch.__dataclass_fields__}
    return {name: value.tolist() for name, value in tensors.items() if isinstance(value, torch.Tensor)}


def test_two_samples_that_share_nothing() -> None:
    first = sample([10, 11, 20, 21], [2, 3], [[20, 30], []])
    second = sample([12, 22, 2], [1], [[22, 23, 24]])
    batch = make_batch([first, second], [np.array([0.25, 0.25]), np.array([0.5])], CPU)
    assert lists(batch) == {
        # tokens after the last decision are not computed
        "ids_N":          [10, 11, 20,      12],
        "states_P":       [    1,  2,       3],
        "choice_rows_C":  [        0, 0,        2, 2, 2],
        "choice_ids_C":   [        20, 30,      22, 23, 24],
        "free_rows":      [            1],
        "predictions_D":  [        0,  1,       2],
        "targets_D":      [        20, 21,      22],
        "old_logprobs_D": [      -0.5, -1.0,  -0.5],
        "sampled_logprobs_D": [    -0.5, -1.0,  -0.5],
        "advantages_D":   [        4,  4,       3],
        "sequences_D":    [        0,  0,       1],
        "turns_D":        [        0,  0,       1],
        "groups_D":       [        0,  0,       1],
        "loss_weights_D":      [        0.25, 0.25,  0.5],
    }  # fmt: skip
    assert batch.ragged.positions_N.tolist() == [0, 1, 2, 0]
    assert batch.tokens_unshared == 7


@pytest.mark.parametrize(("length", "num_computed"), [(10, 18), (11, 22)])
def test_prefixes_are_shared_where_that_saves_a_tenth_of_the_tokens(length: int, num_computed: int) -> None:
    """Two sequences with two common tokens: 18 of 20 tokens are computed, but not 20 of 22."""
    samples = [sample([1, 2, *range(first, first + length - 2), 0], [length]) for first in (20, 40)]
    batch = make_batch(samples, [np.ones(1)] * 2, CPU)
    assert len(batch.ids_N) == num_computed
    assert batch.ids_N[batch.states_P].tolist() == [19 + length - 2, 39 + length - 2]


def test_positions_have_their_sequence_and_turn_and_the_sampled_logprobs() -> None:
    first = sample([10, 11, 20, 21, 22], [1, 2, 3])  # turns 0, 0, 2: turn 1 decides nothing
    second = replace(sample([12, 22], [1]), sampled_logprobs=np.array([-2.0]))
    batch = make_batch([first, second], [np.ones(3), np.ones(1)], CPU)
    assert batch.sequences_D.tolist() == [0, 0, 0, 1]
    assert batch.turns_D.tolist() == [0, 0, 1, 2]
    assert batch.old_logprobs_D.tolist() == [-0.5, -1.0, -1.5, -0.5]
    assert batch.sampled_logprobs_D.tolist() == [-0.5, -1.0, -1.5, -2.0]


def test_samples_that_decide_at_one_state_share_a_prediction_where_the_same_was_allowed() -> None:
    samples = [
        sample([10, 11, 20, 2, 5], [2, 4], [[20, 30], []]),
        sample([10, 11, 30, 7], [2], [[20, 30]]),
        sample([10, 11, 30], [2], [[]]),
        sample([10, 11, 30, 7], [2, 3], [[20, 30], []]),
    ]
    batch = make_batch(samples, [np.full(len(s.positions), 1 / 6) for s in samples], CPU)
    found = lists(batch)
    assert {name: found[name] for name in list(found)[:7]} == {
        #                  state 1                           below it
        "ids_N":          [10, 11,                           20, 2,  30],
        "states_P":       [    1,                                3,      1,  4],
        "choice_rows_C":  [    0, 0],
        "choice_ids_C":   [    20, 30],
        "free_rows":      [                                      1,      2,  3],
        #                  sample 0   1   2   3
        "predictions_D":  [0, 1,      0,  2,  0, 3],
        "targets_D":      [20, 5,     30, 30, 30, 7],
    }  # fmt: skip
    assert batch.ragged.positions_N.tolist() == [0, 1, 2, 3, 2]
    assert batch.tokens_unshared == 16


@pytest.mark.parametrize(
    ("contexts", "budget", "expected"),
    [
        (["abc", "b", "aa"], 100, [[2, 0, 1]]),  # in the order of their ids
        (["aabb", "aacc", "aadd"], 8, [[0, 1, 2]]),  # aa, bb, cc and dd
        (["aabb", "aacc", "aadd"], 7, [[0, 1], [2]]),  # the last pays for aa again
        (["aabb", "aacc", "aadd"], 6, [[0, 1], [2]]),
        (["aabb", "aacc", "aadd"], 5, [[0], [1], [2]]),
        (["ab", "ab", "a"], 2, [[2, 0, 1]]),
        (["aa", "bbbbbbbb", "cc"], 4, [[0], [1], [2]]),  # one beyond the budget goes by itself
        (["aa", "cc", "bbbbbbbb"], 4, [[0], [2], [1]]),
        (["aa", "bb"], 1, [[0], [1]]),
        (["abbbbbbbb", "accccccc", "d"], 17, [[0, 1], [2]]),  # 16 of 17 tokens: not shared, and "d" is the 18th
        (["aabbbbbb", "aaccccc", "d"], 14, [[0, 1, 2]]),  # 14 of 16 tokens
        ([], 8, []),
    ],
)
def test_micro_batches(contexts: list[str], budget: int, expected: list[list[int]]) -> None:
    samples = [sample([*map(ord, context), 0], [len(context)]) for context in contexts]
    assert list(micro_batches(samples, budget)) == expected


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=9), st.integers(1, 20))
def test_micro_batches_stay_within_the_token_budget(contexts: list[str], budget: int) -> None:
    samples = [sample([*map(ord, context), 0], [len(context)]) for context in contexts]
    chunks = list(micro_batches(samples, budget))
    assert sorted(i for chunk in chunks for i in chunk) == list(range(len(samples)))
    for chunk in chunks:
        batch = make_batch([samples[i] for i in chunk], [np.ones(1)] * len(chunk), CPU)
        assert len(batch.ids_N) <= budget or len(chunk) == 1
