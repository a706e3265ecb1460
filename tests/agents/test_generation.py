"""Partial replies: forced tokens, remaining choices, ends, and resuming after an interruption."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cairn.agents.backend import Reply, Request
from cairn.agents.config import SamplingConfig
from cairn.agents.generation import PartialReply

END = 2
CHOICES = [(5, 6, END), (5, 7, 8, END), (5, 7, 9, END)]
LIMITS = SamplingConfig(max_reply_tokens=3, max_context=64)


def begin(
    tokens: list[int], limits: SamplingConfig = LIMITS, ends: frozenset[int] = frozenset({END}), **asked: Any
) -> PartialReply:  # Any: fields of Request
    settings = {"choices": None, **asked}
    request = Request(prompt_ids=(), extends=True, rng=random.Random(0), **settings)
    return PartialReply.begin(tokens, request, ends, limits, version=4)


def test_forced_tokens_are_present_before_anything_is_sampled() -> None:
    partial = begin(tokens := [1], choices=CHOICES)
    assert (partial.ids, partial.next_ids, partial.finish, partial.is_decided) == ([5], (6, 7), None, False)
    partial.append(7, -0.5, 4, (6, 7))
    partial.force()
    assert partial.next_ids == (8, 9)
    partial.append(9, -0.25, 5, (8, 9))
    assert partial.is_decided
    partial.force()
    assert tokens == [1, 5, 7, 9, END]
    reply = partial.reply()
    assert (reply.ids.tolist(), reply.logprobs.tolist()) == ([5, 7, 9, END], [0.0, -0.5, -0.25, 0.0])
    assert reply.constraint is not None
    assert reply.constraint.ids.tolist() == [5, 6, 7, 8, 9, END]
    assert reply.constraint.offsets.tolist() == [0, 1, 3, 5, 6]
    assert (reply.finish, reply.version) == ("end", 4)


@pytest.mark.parametrize(
    ("length", "sampled", "finish", "room"),
    [
        (1, (7,), None, 2),
        (1, (7, 7, 7), "length", 0),
        (1, (7, END), "end", 1),
        (62, (7,), None, 1),
        (62, (7, 7), "context", 0),
        (62, (7, END), "context", 0),
        (64, (), "context", 0),
    ],
)
def test_a_free_reply_ends(length: int, sampled: tuple[int, ...], finish: str | None, room: int) -> None:
    partial = begin([1] * length)
    for token in sampled:
        partial.append(token, -1.0, 4, None)
    assert (partial.finish, partial.room) == (finish, room)
    assert partial.reply().finish == (finish or "abort")
    assert partial.reply().constraint is None


def test_a_constrained_reply_is_bounded_by_the_context_alone() -> None:
    assert begin([1] * 60, choices=CHOICES).room == 3
    assert begin([1] * 62, choices=CHOICES[:1]).ids == [5, 6]
    assert begin([1] * 62, choices=CHOICES[:1]).finish == "context"
    assert len(begin([1], choices=[(5, 6, 7, 8, 9, END)]).ids) == 6


def test_a_partial_reply_is_resumed() -> None:
    before = begin([1], choices=CHOICES)
    before.append(7, -0.5, 4, (6, 7))
    kept: Reply = before.reply()
    partial = begin(tokens := [1], choices=CHOICES, partial=kept)
    assert (tokens, partial.ids, partial.logprobs) == ([1, 5, 7], [5, 7], [0.0, -0.5])
    assert (partial.allowed, partial.next_ids, partial.version) == ([(5,), (6, 7)], (8, 9), 4)


def test_a_reply_is_over_at_any_of_its_ends() -> None:
    for end in (END, 11):
        partial = begin([1], SamplingConfig(max_reply_tokens=9, max_context=64), ends=frozenset({END, 11}))
        partial.append(5, -0.5, 4, None)
        assert partial.finish is None
        partial.append(end, -0.5, 4, None)
        assert partial.finish == "end"
