"""A reply in progress: its sampled ids, its remaining choices, and its ending.

Back ends that sample ids have one `PartialReply` per busy slot, so that they agree on forced ids, on the end of a reply
and on how an interrupted reply continues. This module samples nothing and uses no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cairn.agents.backend import Finish, Reply, Request
from cairn.agents.config import SamplingConfig
from cairn.agents.constraint import next_ids, pack


@dataclass(slots=True, kw_only=True)
class PartialReply:
    """One reply in progress."""

    tokens: list[int]  # the slot's whole sequence; grows with the reply
    choices: Sequence[tuple[int, ...]] | None  # choices that begin with the ids so far; None: unconstrained
    end_ids: frozenset[int]  # ids that end the reply
    limits: SamplingConfig
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    allowed: list[tuple[int, ...]] = field(default_factory=list)  # one set per id, if there are choices
    version: int = 0  # of the weights that sampled the first id

    @classmethod
    def begin(
        cls, tokens: list[int], request: Request, end_ids: frozenset[int], limits: SamplingConfig, version: int
    ) -> PartialReply:
        """Return the partial reply to a request after `tokens`.

        It contains the ids from before an interruption, and forced ids.
        """
        partial = cls(tokens=tokens, choices=request.choices, end_ids=end_ids, limits=limits, version=version)
        if request.partial is not None:
            partial._continue_from(request.partial)
        partial.force()
        return partial

    @property
    def next_ids(self) -> tuple[int, ...] | None:
        """Ids that may come next, sorted; None: all ids."""
        return None if self.choices is None else next_ids(self.choices, len(self.ids))

    @property
    def is_decided(self) -> bool:
        """Whether only one choice is left."""
        return self.choices is not None and all(choice == self.choices[0] for choice in self.choices)

    @property
    def finish(self) -> Finish | None:
        """The reason why the reply is finished; None: it is not."""
        if len(self.tokens) >= self.limits.max_context:
            return "context"
        if self.ids and self.ids[-1] in self.end_ids:
            return "end"
        return "length" if self.choices is None and len(self.ids) >= self.limits.max_reply_tokens else None

    @property
    def room(self) -> int:
        """Maximum number of further ids."""
        left = self.limits.max_context - len(self.tokens)
        return left if self.choices is not None else min(left, self.limits.max_reply_tokens - len(self.ids))

    def append(self, token: int, logprob: float, version: int, allowed: tuple[int, ...] | None) -> None:
        """Append an id sampled from `allowed` with these weights; `allowed` None: all ids."""
        place = len(self.ids)
        if place == 0:
            self.version = version
        self.ids.append(token)
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if self.choices is not None:
            self.allowed.append(allowed or (token,))
            self.choices = [choice for choice in self.choices if choice[place] == token]

    def force(self) -> None:
        """Append ids while the constraint allows only one."""
        while self.finish is None and (ids := self.next_ids) is not None and len(ids) == 1:
            self.append(ids[0], 0.0, self.version, ids)

    def reply(self) -> Reply:
        """Return the reply so far."""
        return Reply(
            ids=np.array(self.ids, np.int32),
            logprobs=np.array(self.logprobs, np.float32),
            constraint=None if self.choices is None else pack(self.allowed),
            finish=self.finish or "abort",
            version=self.version,
        )

    def _continue_from(self, partial: Reply) -> None:
        """Append the ids of an interrupted reply."""
        for place, (token, logprob) in enumerate(zip(partial.ids.tolist(), partial.logprobs.tolist(), strict=True)):
            allowed = None
            if partial.constraint is not None:
                first, end = partial.constraint.offsets[place : place + 2]
                allowed = tuple(partial.constraint.ids[first:end].tolist())
            self.append(token, logprob, partial.version, allowed)
