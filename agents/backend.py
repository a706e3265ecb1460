"""What a generation back end is asked and what it answers: ids in; ids, logprobs and weights' version out.

A back end serves a fixed number of slots. An episode keeps its slot from its first turn to its last, so that a prompt
which extends the previous turn costs only its new tokens.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cairn.core.records import Constraint, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One reply wanted."""

    prompt_ids: Sequence[int]  # new ids where `extends`, else the whole prompt
    extends: bool  # the slot's sequence goes on
    choices: (
        Sequence[tuple[int, ...]] | None
    )  # the reply is one of these id sequences, each closed by the end id; None: free
    rng: random.Random  # one draw a sampled token, so that a reply does not depend on what else is in flight


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was sampled."""

    ids: IntArray  # [R], the end id included
    logprobs: FloatArray  # [R] under the distribution sampled from: temperature and constraint applied
    constraint: Constraint | None
    finish: Literal["end", "length", "context"]  # closed by the end id; cut at the reply limit; the sequence is full
    version: int  # of the weights


class Backend(Protocol):
    """Samples replies for slots."""

    num_slots: int
    version: int

    def submit(self, slot: int, request: Request) -> None:
        """Ask for a reply in this slot; it must have none under way."""

    def step(self) -> list[tuple[int, Reply]]:
        """Do a unit of work; return the replies that it finished, by slot."""
