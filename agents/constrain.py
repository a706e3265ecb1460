"""The choices that a constraint leaves at each place of a reply."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from cairn.core.records import Constraint


def next_ids(choices: Sequence[tuple[int, ...]], place: int) -> tuple[int, ...]:
    """Return which ids the choices have at `place`, sorted."""
    return tuple(sorted({choice[place] for choice in choices}))


def constraint_along(choices: Sequence[tuple[int, ...]], reply: Sequence[int]) -> Constraint:
    """Return the constraint under which `reply` was one of `choices`, each closed by the end id.

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
    """Return the record of one set of allowed ids a place."""
    sizes = [len(ids) for ids in allowed]
    return Constraint(
        ids=np.fromiter(itertools.chain.from_iterable(allowed), np.int32, sum(sizes)),
        offsets=np.cumsum([0, *sizes]).astype(np.int32),
    )
