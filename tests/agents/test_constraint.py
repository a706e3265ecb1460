"""Allowed ids at each position of a reply under a constraint."""

from __future__ import annotations

import json

import pytest

from cairn.agents.constraint import constraint_along, flatten, next_ids, unflatten

CHOICES = [(5, 6, 2), (5, 7, 8, 2), (9, 2)]


def test_ids_at_a_place() -> None:
    assert next_ids(CHOICES, 0) == (5, 9)
    assert next_ids(CHOICES[:2], 1) == (6, 7)


@pytest.mark.parametrize(
    ("reply", "ids", "offsets"),
    [
        ((5, 7, 8, 2), [5, 9, 6, 7, 8, 2], [0, 2, 4, 5, 6]),
        ((5, 6, 2), [5, 9, 6, 7, 2], [0, 2, 4, 5]),
        ((9, 2), [5, 9, 2], [0, 2, 3]),
    ],
)
def test_choices_along_a_reply(reply: tuple[int, ...], ids: list[int], offsets: list[int]) -> None:
    found = constraint_along(CHOICES, reply)
    assert (found.ids.tolist(), found.offsets.tolist()) == (ids, offsets)


@pytest.mark.parametrize("reply", [(6,), (5, 8), (5,), (9, 2, 2), ()])
def test_a_reply_that_is_not_among_the_choices_is_refused(reply: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="not among"):
        constraint_along(CHOICES, reply)


def test_choices_survive_being_one_list_of_numbers() -> None:
    choices = [(5, 2), (6, 7, 2), (0, 2)]
    assert flatten(choices) == [5, 2, -1, 6, 7, 2, -1, 0, 2, -1]
    assert unflatten(json.loads(json.dumps(flatten(choices)))) == choices


@pytest.mark.parametrize("flat", [[], [5, 2], [-1], [5, -1, -1], [5, -2, -1], [5.0, -1], [True, -1], "5", None, [[5]]])
def test_malformed_flat_choices_are_rejected(flat: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        unflatten(flat)
