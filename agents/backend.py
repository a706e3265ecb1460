"""The interface of generation back ends: requests and replies.

A request has ids; its reply has ids, logprobs and the version of the weights. A back end serves a fixed number of
slots. An episode keeps its slot from its first turn to its last, so that a prompt which extends the previous turn costs
only its new tokens. Back ends without our ids (scripts, services with a text API) reply with text only: such episodes
can be evaluated but not trained on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from cairn.agents.tool_calls import ToolCall
from cairn.core.errors import EpisodeFailure
from cairn.core.records import Constraint, FloatArray, IntArray, Observation, Schema, Tokens

# end id; reply limit; context full; not finished; the agent's code failed
Finish = Literal["end", "length", "context", "abort", "error"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()  # assistant: its calls; tool: the call that it answers
    image: bytes | None = None  # user: a PNG


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """The turn that a reply answers, for back ends that read no prompt."""

    task_id: str
    turn: int  # number of earlier replies
    observation: Observation
    oracle: Callable[[str | None], str]  # returns the next action of the environment's oracle with this name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A sampled reply."""

    ids: IntArray  # [R], with the end id; empty if the back end has no ids
    logprobs: FloatArray  # [R] of the sampling distribution: temperature and constraint applied
    constraint: Constraint | None
    finish: Finish
    version: int  # of the weights that sampled the first token
    text: str | None = None  # text of a back end without ids, or the error; None: decode the ids
    tokens: Tokens | None = None  # as a server counted them


def text_reply(text: str, finish: Finish, version: int = 0) -> Reply:
    """Return a reply without ids."""
    nothing = np.empty(0, np.int32), np.empty(0, np.float32)
    return Reply(ids=nothing[0], logprobs=nothing[1], constraint=None, finish=finish, version=version, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for one reply."""

    prompt_ids: Sequence[int]  # new ids if `extends`, else the whole prompt; empty if the context makes messages
    extends: bool  # the prompt continues the slot's sequence
    choices: Sequence[tuple[int, ...]] | None  # allowed replies, each ending in the end id; None: unconstrained
    rng: random.Random  # one draw per sampled token, so that a reply does not depend on other slots
    partial: Reply | None = None  # start of the reply, sampled before an interruption
    messages: Sequence[Message] = ()  # the prompt, if the context makes messages
    tools: Sequence[Schema] = ()  # callable tools; with these the reply's text is a JSON `agents.tool_calls.Answer`
    turn_context: TurnContext | None = None  # None: the request is not part of an episode


class Backend(Protocol):
    """Samples replies for slots.

    New weights also apply to replies in progress: their later tokens are sampled with the new weights.
    """

    num_slots: int
    version: int
    tokens_processed: int  # computed so far
    cache_tokens: int | None  # total capacity of its sequences; None: limited by slots only

    def submit(self, slot: int, request: Request) -> None:
        """Request a reply in this slot; it must have none in progress."""

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Do a unit of work, or wait briefly; return finished replies and failures by slot."""

    def so_far(self, slot: int) -> Reply | None:
        """Return the sampled part of the reply in progress; None: nothing yet."""

    def abort(self, slot: int) -> None:
        """Discard the reply in progress; the slot becomes free."""

    def fork(self, source: int, target: int) -> None:
        """Copy the source's sequence to the target without recomputing it; both must be idle."""

    def sync_weights(self, version: int) -> None:
        """Sample with the policy's current weights from now on."""

    def close(self) -> None:
        """Release processes and connections."""
