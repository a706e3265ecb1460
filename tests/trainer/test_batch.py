"""Samples laid end to end: the expected lists of two samples, and the cut into micro-batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cairn.trainer.batch import by_tokens, make_batch
from cairn.trainer.samples import Sample


def sample(ids: list[int], places: list[int], choices: list[list[int]] | None = None) -> Sample:
    allowed = choices if choices is not None else [[] for _ in places]
    return Sample(
        ids=np.array(ids, np.int32),
        places=np.array(places, np.int32),
        old_logprobs=np.linspace(-0.5, -0.5 * len(places), len(places)),
        advantages=np.full(len(places), float(len(ids))),
        choice_ids=np.array([i for c in allowed for i in c], np.int32),
        choice_offsets=np.cumsum([0, *map(len, allowed)]).astype(np.int32),
    )


def test_two_samples_end_to_end() -> None:
    first = sample([10, 11, 20, 21], [2, 3], [[20, 30], []])
    second = sample([12, 22, 2], [1], [[22, 23, 24]])
    batch = make_batch([first, second], [np.array([0.25, 0.25]), np.array([0.5])], torch.device("cpu"))
    found = {
        name: getattr(batch, name).tolist() for name in (*(f for f in batch.__dataclass_fields__ if f != "ragged"),)
    }
    assert found == {
        #                  sample 0         sample 1
        "ids_N":          [10, 11, 20, 21,  12, 22, 2],
        "states_D":       [    1,  2,       4],
        "targets_D":      [        20, 21,      22],
        "old_logprobs_D": [      -0.5, -1.0,  -0.5],
        "advantages_D":   [        4,  4,       3],
        "weights_D":      [        0.25, 0.25,  0.5],
        "choice_rows_C":  [        0, 0,        2, 2, 2],
        "choice_ids_C":   [        20, 30,      22, 23, 24],
        "free_rows":      [            1],
    }  # fmt: skip
    assert batch.ragged.rows_N.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert batch.ragged.positions_N.tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert (batch.ragged.num_rows, batch.ragged.longest) == (2, 4)


def of_lengths(*lengths: int) -> list[Sample]:
    return [sample([1] * length, [length - 1]) for length in lengths]


@pytest.mark.parametrize(
    ("lengths", "budget", "expected"),
    [
        ((3, 5, 2), 100, [[2, 0, 1]]),
        ((3, 5, 2), 9, [[2, 0], [1]]),  # 2 x 3 fit, 3 x 5 do not
        ((3, 3, 3, 3), 6, [[0, 1], [2, 3]]),
        ((3, 50, 3), 6, [[0, 2], [1]]),  # one beyond the budget goes by itself
        ((4, 4), 1, [[0], [1]]),
        ((), 8, []),
    ],
)
def test_micro_batches(lengths: tuple[int, ...], budget: int, expected: list[list[int]]) -> None:
    assert list(by_tokens(of_lengths(*lengths), budget)) == expected
