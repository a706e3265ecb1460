"""What a generation back end is asked and what it answers: ids in; ids, logprobs and weights' version out.

A back end serves a fixed number of slots. An episode keeps its slot from its first turn to its last, so that a prompt
which extends the previous turn costs only its new tokens. Back ends that speak no ids of ours (a script, a service
behind an interface of text) answer with text alone: such episodes can be judged, and not trained on.
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

# end id; reply limit; the sequence is full; not finished; the agent's code failed
Finish = Literal["end", "length", "context", "abort", "error"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()  # assistant: made with it; tool: the one that it answers
    image: bytes | None = None  # user: a PNG shown with it


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What a reply answers, for back ends that read no prompt."""

    task_id: str
    turn: int  # answers before this one
    observation: Observation
    oracle: Callable[[str | None], str]  # asks the environment's oracle, by name, for the next action


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was sampled."""

    ids: IntArray  # [R], the end id included; empty where the back end has no ids
    logprobs: FloatArray  # [R] under the distribution sampled from: temperature and constraint applied
    constraint: Constraint | None
    finish: Finish
    version: int  # of the weights that sampled the first token
    text: str | None = None  # what a back end without ids says, or the error; None: what the ids say
    tokens: Tokens | None = None  # as a server counted them


def text_reply(text: str, finish: Finish, version: int = 0) -> Reply:
    """Return a reply without ids."""
    nothing = np.empty(0, np.int32), np.empty(0, np.float32)
    return Reply(ids=nothing[0], logprobs=nothing[1], constraint=None, finish=finish, version=version, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One reply wanted."""

    prompt_ids: Sequence[int]  # new ids where `extends`, else the whole prompt; empty where the context makes text
    extends: bool  # the slot's sequence goes on
    choices: (
        Sequence[tuple[int, ...]] | None
    )  # the reply is one of these id sequences, each closed by the end id; None: free
    rng: random.Random  # one draw a sampled token, so that a reply does not depend on what else is in flight
    partial: Reply | None = None  # what an interrupted run had sampled of this reply: the answer begins with it
    messages: Sequence[Message] = ()  # the prompt of a context that makes text
    tools: Sequence[Schema] = ()  # what the model may call; the reply's text is then an `agents.tool_calls.Answer`
    turn_context: TurnContext | None = None  # None: whoever asks plays no episode


class Backend(Protocol):
    """Samples replies for slots. New weights reach replies under way: their later tokens are sampled with them."""

    num_slots: int
    version: int
    tokens_processed: int  # computed so far
    cache_tokens: int | None  # that its sequences can hold together; None: nothing but slots bounds them

    def submit(self, slot: int, request: Request) -> None:
        """Ask for a reply in this slot; it must have none under way."""

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Do a unit of work, or wait a moment for one; return the replies that are finished, or why there is none."""

    def so_far(self, slot: int) -> Reply | None:
        """Return what has been sampled of the reply under way; None: nothing has."""

    def abort(self, slot: int) -> None:
        """Give up the reply under way; the slot is free."""

    def fork(self, source: int, target: int) -> None:
        """Make the target's sequence that of the source, without computing it again. Both must be idle."""

    def pause(self) -> None:
        """Sample nothing until `resume`; replies under way stay as they are."""

    def resume(self) -> None:
        """Go on sampling."""

    def sync_weights(self, version: int) -> None:
        """Sample with the policy's present weights from now on."""

    def close(self) -> None:
        """Give back what is held: processes, connections."""
