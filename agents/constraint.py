"""Allowed ids at each position of a constrained reply."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from cairn.core.records import Constraint


def next_ids(choices: Sequence[tuple[int, ...]], place: int) -> tuple[int, ...]:
    """Return the ids of the choices at `place`, sorted."""
    return tuple(sorted({choice[place] for choice in choices}))


def constraint_along(choices: Sequence[tuple[int, ...]], reply: Sequence[int]) -> Constraint:
    """Return the constraint under which `reply` was one of `choices`; each ends in the end id.

    Raises:
        ValueError: the reply is not among the choices.
    """
    if tuple(reply) not in choices:
        raise ValueError(f"reply {list(reply)} is not among the {len(choices)} choices")
    allowed = []
    for place, token in enumerate(reply):
        allowed.append(next_ids(choices, place))
        choices = [choice for choice in choices if choice[place] == token]
    return pack(allowed)


def pack(allowed: Sequence[Sequence[int]]) -> Constraint:
    """Return the record of a set of allowed ids per position."""
    sizes = [len(ids) for ids in allowed]
    return Constraint(
        ids=np.fromiter(itertools.chain.from_iterable(allowed), np.int32, sum(sizes)),
        offsets=np.cumsum([0, *sizes]).astype(np.int32),
    )


def flatten(choices: Sequence[Sequence[int]]) -> list[int]:
    """Return the choices as one list of integers, with -1 after each; see `unflatten`.

    [(5, 2), (6, 7, 2)] becomes [5, 2, -1, 6, 7, 2, -1], because vLLM's servers accept lists of numbers, but not lists
    of lists.
    """
    return [i for choice in choices for i in (*choice, -1)]


def unflatten(flat: object) -> list[tuple[int, ...]]:
    """Return the choices from a list that `flatten` made.

    Raises:
        ValueError: the list is malformed.
    """
    if not isinstance(flat, list) or not flat or not all(type(i) is int and i >= -1 for i in flat) or flat[-1] != -1:
        raise ValueError(f"expected choices as one list of ids with a -1 after each choice, got {flat!r:.200}")
    ends = [place for place, i in enumerate(flat) if i == -1]
    choices = [tuple(flat[first:end]) for first, end in zip([0, *(e + 1 for e in ends)], ends, strict=False)]
    if not all(choices):
        raise ValueError(f"expected at least one id in each choice, got {flat!r:.200}")
    return choices
