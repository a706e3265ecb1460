"""What a generation back end is asked and what it answers: ids in; ids, logprobs and weights' version out.

A back end serves a fixed number of slots. An episode keeps its slot from its first turn to its last, so that a prompt
which extends the previous turn costs only its new tokens.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cairn.core.errors import ModelFailure
from cairn.core.records import Constraint, FloatArray, IntArray

Finish = Literal["end", "length", "context", "abort"]  # end id; reply limit; the sequence is full; not finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was sampled."""

    ids: IntArray  # [R], the end id included
    logprobs: FloatArray  # [R] under the distribution sampled from: temperature and constraint applied
    constraint: Constraint | None
    finish: Finish
    version: int  # of the weights that sampled the first token


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One reply wanted."""

    prompt_ids: Sequence[int]  # new ids where `extends`, else the whole prompt
    extends: bool  # the slot's sequence goes on
    choices: (
        Sequence[tuple[int, ...]] | None
    )  # the reply is one of these id sequences, each closed by the end id; None: free
    rng: random.Random  # one draw a sampled token, so that a reply does not depend on what else is in flight
    begun: Reply | None = None  # what an interrupted run had sampled of this reply: the answer begins with it


class Backend(Protocol):
    """Samples replies for slots. New weights reach replies under way: their later tokens are sampled with them."""

    num_slots: int
    version: int
    num_tokens: int  # computed so far

    def submit(self, slot: int, request: Request) -> None:
        """Ask for a reply in this slot; it must have none under way."""

    def step(self) -> list[tuple[int, Reply | ModelFailure]]:
        """Do a unit of work; return the replies that it finished, by slot, or why there is none."""

    def so_far(self, slot: int) -> Reply | None:
        """Return what has been sampled of the reply under way; None: nothing has."""

    def abort(self, slot: int) -> None:
        """Give up the reply under way; the slot is free."""

    def fork(self, source: int, target: int) -> None:
        """Make the target's sequence that of the source, without computing it again. Both must be idle."""

    def update_weights(self, version: int) -> None:
        """Sample with the policy's present weights from now on."""
