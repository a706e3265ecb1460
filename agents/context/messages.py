"""The episode as text messages, for models behind an API that takes no ids: evaluation only.

Observations are user messages. With ``format = "tool"`` the model is offered the environment's tools, and the action is
the call as JSON. If the environment has no tools, a single tool `act` is offered, whose argument is the action. The
result of a call is a tool message. `agents.tool_calls` handles replies that are not valid calls.

The newest images are sent with their turns; earlier turns state that their image is left out. The protocol allows only
text in tool messages, so an image after a tool result is sent in a user message.

With ``memory = "summary"`` the model is asked at intervals to summarise the oldest turns; the summary replaces them.
The summary is a separate reply without an environment step, is requested from text only, and is stored as a note of the
next turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, model_validator

from cairn.agents.backend import Message
from cairn.agents.context.base import ContextPlugin, Prompt
from cairn.agents.conversation import Conversation, ConversationConfig, TurnContent, form_of
from cairn.agents.forms.base import Parsed, invalid
from cairn.agents.prompts import load_prompt
from cairn.agents.tool_calls import CUT, ToolCall, ToolCallResult, ToolSet, read_answer
from cairn.core.errors import ConfigError
from cairn.core.records import Observation

_CHARS_A_TOKEN = 3  # a low estimate, so that token budgets are not exceeded
_LEFT_OUT = "(The picture of this turn is left out.)"
_AFTER_TOOLS = "The picture of this turn:"


class MessagesConfig(ConversationConfig):
    """The instructions, the reply format and the memory of a conversation in messages."""

    format: str = Field(
        "plain",
        description="Reply form: plain, tagged, react, code, or one of yours; or tool: a call of one of the "
        "environment's tools, or else of `act`, which lists the admissible actions if they are at most 100.",
    )
    images: int = Field(
        1,
        ge=0,
        description="Newest pictures that are shown, where observations have them; earlier turns say that theirs are "
        "left out. 0: none are, and nothing says so.",
    )
    summary_turns: int | None = Field(
        None, ge=1, description="With memory = 'summary': shown turns at which the oldest are summarised."
    )
    summary_tokens: int | None = Field(
        None,
        ge=1,
        description="Likewise: tokens of a prompt, at three characters each and pictures aside, beyond which they are. "
        "Without either budget: at 8 turns.",
    )
    summary_file: str = Field(
        "summary", description="What asks for it: name in configs/prompts/summaries, or path of a text file."
    )

    @classmethod
    def formats(cls) -> list[str]:
        """Return the available reply forms."""
        return [*super().formats(), "tool"]

    def prompts(self) -> dict[str, str]:
        """Return the fixed prompt texts of every episode, by setting."""
        asked = {"summary": load_prompt("summaries", self.summary_file)} if self.policy == "summary" else {}
        return super().prompts() | asked

    @property
    def most_turns(self) -> int | None:
        """Number of shown turns at which the oldest are summarised; None: unlimited."""
        return 8 if self.summary_turns is None and self.summary_tokens is None else self.summary_turns

    @model_validator(mode="after")
    def _check_budget(self) -> MessagesConfig:
        if self.policy != "summary":
            if self.summary_turns is not None or self.summary_tokens is not None:
                raise ValueError("summary_turns and summary_tokens need memory = 'summary'")
        elif self.most_turns is not None and self.most_turns <= (self.kept or 0):
            raise ValueError(f"summary_turns must be above the {self.kept} turns that stay as they are (history)")
        return self


@dataclass(frozen=True, slots=True)
class _PastReply:
    """A reply as shown in later prompts, and the image that it answered."""

    content: str
    called: ToolCallResult | None = None  # None: no tools are offered
    image: bytes | None = None  # PNG

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls to show in later prompts."""
        return () if self.called is None else self.called.calls


class Messages:
    """`agents.context.base.Context` that makes messages."""

    def __init__(self, config: MessagesConfig, encoder: object = None) -> None:
        self._config = config
        self._form = None if config.format == "tool" else form_of(config)
        self._talk = Conversation[_PastReply](config)
        self._tool_set = ToolSet(Observation(text="", anchor=0))
        self._asked = config.prompts().get("summary", "")

    def prompt(self, observation: Observation) -> Prompt:
        """Return the whole conversation, or a request to summarise its oldest turns."""
        self._tool_set = ToolSet(observation)
        whole = self._whole(observation)
        if self._config.policy == "summary" and self._talk.oldest() and self._is_long(whole):
            return Prompt((), extends=False, messages=self._summary_request(), asks="summary")
        tools = self._tool_set.tools if self._form is None else ()
        return Prompt((), extends=False, messages=tuple(whole), tools=tools)

    def note(self, text: str) -> None:
        """Store the requested summary."""
        self._talk.summarise(text)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Record a turn; hide the oldest turns if the window is full."""
        if self._form is not None:
            error = self._form.parse(reply_text).error if self._form.is_strict else ""
            self._talk.add(observation, _PastReply(reply_text, image=self._image(observation)), error)
            return
        answer = read_answer(reply_text)
        called = ToolSet(observation).read(answer)
        if called.parsed.is_valid and not action:
            called = ToolCallResult(invalid(CUT))  # as in `parse`: a valid call without an action was cut off
        reply = _PastReply(answer.content, called, self._image(observation))
        self._talk.add(observation, reply, called.parsed.error)

    def render(self, action: str) -> tuple[int, ...]:
        """Raise `ConfigError`, because this context makes no ids."""
        raise ConfigError("agent.context.method: 'messages' makes text and no ids; imitation needs one that makes ids")

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        """Parse a reply in the configured format."""
        if self._form is not None:
            return self._form.parse(reply)
        return invalid(CUT) if truncated else self._tool_set.read(read_answer(reply)).parsed

    def _whole(self, observation: Observation) -> list[Message]:
        (first, image), *later = self._shown(observation)
        messages = [*self._system(), Message("user", self._talk.opening(first.text), image=image)]
        for (_, reply), (shown, image) in zip(self._talk.turns, later, strict=True):
            messages += [Message("assistant", reply.content, reply.calls), *_answering(reply, shown, image)]
        return messages

    def _shown(self, observation: Observation) -> list[tuple[TurnContent, bytes | None]]:
        """Return the content and image of each turn, with the current one last."""
        turns = [(shown, reply.image) for shown, reply in self._talk.turns]
        turns.append((self._talk.message(observation), self._image(observation)))
        pictured = [at for at, (_, image) in enumerate(turns) if image is not None]
        for at in pictured[: -self._config.images]:
            turns[at] = _without_picture(turns[at][0]), None
        return turns

    def _image(self, observation: Observation) -> bytes | None:
        """Return an observation's image; None if images are disabled."""
        return observation.image if self._config.images else None

    def _system(self) -> list[Message]:
        return [] if self._config.system_text is None else [Message("system", self._config.system_text)]

    def _is_long(self, whole: Sequence[Message]) -> bool:
        turns, tokens = self._config.most_turns, self._config.summary_tokens
        chars = sum(len(message.content) + sum(len(c.arguments) for c in message.calls) for message in whole)
        return (turns is not None and len(self._talk.turns) >= turns) or (
            tokens is not None and chars > tokens * _CHARS_A_TOKEN
        )

    def _summary_request(self) -> tuple[Message, ...]:
        """Return messages that contain the oldest turns and ask for a summary of them."""
        parts = [part for part in (self._talk.before(),) if part]
        for message, reply in self._talk.oldest():
            calls = [f"{call.name} {call.arguments}" for call in reply.calls]
            seen = message if reply.image is None else _without_picture(message)
            parts += [seen.text, "\n".join(["You answered:", *filter(None, (reply.content, *calls))])]
        return (*self._system(), Message("user", "\n\n".join((*parts, self._asked))))


def _answering(reply: _PastReply, shown: TurnContent, image: bytes | None) -> list[Message]:
    """Return the messages after a reply: one tool message per call, else one user message."""
    if reply.called is None or not reply.calls:
        return [Message("user", shown.text, image=image)]
    results = zip(reply.calls, reply.called.results(shown), strict=True)
    messages = [Message("tool", text, (call,)) for call, text in results]
    return messages if image is None else [*messages, Message("user", _AFTER_TOOLS, image=image)]


def _without_picture(shown: TurnContent) -> TurnContent:
    left_out = f"\n\n{_LEFT_OUT}"
    results = shown.results
    return TurnContent(f"{shown.text}{left_out}", (*results[:-1], f"{results[-1]}{left_out}") if results else ())


CONTEXT = ContextPlugin(MessagesConfig, Messages, makes="messages")
