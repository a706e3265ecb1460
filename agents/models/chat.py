"""Conversations as ids, by increments: a chat template's frames, messages between them, replies as they were sampled.

A frame is what the template says around messages, found by rendering placeholders in their stead. Replies are opaque:
what was sampled stays, thoughts included, whatever the template would make of it. So prompts only ever grow, which
needs a template that appends: the prompt of every turn has to be the first one and the same frame once for each turn
since. That is checked with placeholders, ahead of the turns, whenever their number doubles; so what a turn costs does
not grow with its episode. Each message is rendered too, once, in a conversation of one turn: the template may strip
it, which is followed, and may change nothing else.

The schemas of tools are part of the first prompt, at the place that the template chooses. A template that does not show
them is refused, and so is a schema that spells out a special token.

Not covered: images, and templates that begin the model's reply for it and take that back later; those are refused.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from jinja2 import TemplateError

from cairn.agents.models.templates import title
from cairn.core.errors import ConfigError, ModelFailure
from cairn.core.records import Schema

# Placeholders. The blanks at the ends of the first two are gone where a template strips messages.
_SYSTEM, _USER, _REPLY = "\f<<system>>\f", "\t<<user>>\t", "<<reply>>"
_REMEDY = "set model.chat_template to one that only appends, such as those that ship with Cairn (docs/contexts.md)"

_MAX_SHAPES = 64  # conversations with other tools whose frames are kept

Tools = Sequence[Schema]
Ids = tuple[int, ...]
Encode = Callable[[str], Ids]
Messages = list[dict[str, str]]


class ChatLayout(Protocol):
    """How the texts of an episode and its replies become one sequence."""

    end_id: int  # closes a reply

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt, with the schemas of `tools`."""

    def following(self, turn: int, text: str, *, is_closed: bool, has_system: bool = False, tools: Tools = ()) -> Ids:
        """Return the ids between a reply and the next one.

        Args:
            turn: replies so far, at least 1.
            text: what is said next.
            is_closed: the reply ends in `end_id`; else that id comes first here.
            has_system: the first prompt had a system message.
            tools: those of the first prompt.
        """


class PlainLayout:
    """No template: texts end to end, each followed by the mark that opens a reply."""

    def __init__(self, encode: Encode, end_id: int, act_id: int | None) -> None:
        self.end_id = end_id
        self._encode, self._act_id = encode, act_id

    @property
    def opener(self) -> Ids:
        """What stands before every reply."""
        return (self._act_id,) if self._act_id is not None else self._encode("\n> ")

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt, the system message above it; it has no place for tools."""
        return (*self._encode(text if system is None else f"{system}\n\n{text}"), *self.opener)

    def following(self, turn: int, text: str, *, is_closed: bool, has_system: bool = False, tools: Tools = ()) -> Ids:
        """Return the ids between two replies; see `ChatLayout`."""
        return (*(() if is_closed else (self.end_id,)), *self._encode(text), *self.opener)


class ChatTemplate:
    """A tokenizer's chat template.

    Raises:
        ConfigError: it cannot be rendered, changes replies, or closes them with what is no token of the tokenizer.
    """

    def __init__(self, tokenizer: Any, encode: Encode) -> None:  # Any: a transformers tokenizer
        self._tokenizer, self._encode = tokenizer, encode
        self._marks = {i for i, token in tokenizer.added_tokens_decoder.items() if token.content.strip()}
        self.name = title(str(tokenizer.chat_template), str(tokenizer.name_or_path))
        answered = self.render([*_conversation(0, None, _USER), _message("assistant", _REPLY)], is_asking=False)
        ids, place = self.closing(self.cut(answered, _REPLY)[1])
        self.end_id = ids[place]
        plain = _Shape(self, None, ())
        self._shapes = {(False, ""): plain}  # by whether there is a system message, and by tools
        self.mark_ids = frozenset(self._marks.intersection(itertools.chain(ids, *plain.opening.ids)))

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt: system message, schemas of tools, user message, generation prompt.

        Raises:
            ConfigError: the template does not show the tools.
            ModelFailure: the template changes a message otherwise than by stripping it.
        """
        messages = (text,) if system is None else (system, text)

        def written(shape: _Shape) -> Ids:
            rendered = self.render(_conversation(0, system, text), tools=shape.tools)
            return self._filled(shape.opening, messages, rendered)

        return self._today(system is not None, tools, written)

    def following(self, turn: int, text: str, *, is_closed: bool, has_system: bool = False, tools: Tools = ()) -> Ids:
        """Return the ids between two replies: rest of a reply's frame, user message, generation prompt.

        See `ChatLayout` for the arguments.

        Raises:
            ConfigError: the template is not stable up to this turn.
            ModelFailure: as for `opening`.
        """

        def written(shape: _Shape) -> Ids:
            shape.check(turn)
            rendered = self.render(_conversation(1, shape.system, text), tools=shape.tools)
            return self._filled(shape.following, (text,), rendered.removeprefix(shape.first + shape.stem))

        ids = self._today(has_system, tools, written)
        return ids if is_closed else (self.end_id, *ids)

    def _today(self, has_system: bool, tools: Tools, written: Callable[[_Shape], Ids]) -> Ids:
        """Return what is written in the frames known, or else in those of now: some templates say the date."""
        key = has_system, json.dumps(tools) if tools else ""
        if key in self._shapes:
            try:
                return written(self._shapes[key])
            except (ConfigError, ModelFailure):  # the same again from fresh frames, if it was not the date
                pass
        if len(self._shapes) >= _MAX_SHAPES:
            self._shapes.clear()
        self._shapes[key] = _Shape(self, _SYSTEM if has_system else None, self._tools(key[1]))
        return written(self._shapes[key])

    def _tools(self, schemas: str) -> Tools:
        """Return the tools that JSON describes.

        Raises:
            ModelFailure: it spells out a special token, which the template's frame would hold as one.
        """
        added = self._tokenizer.added_tokens_decoder.values()
        if spelled := [token.content for token in added if token.special and token.content in schemas]:
            raise ModelFailure(f"The schema of a tool spells out the special token {spelled[0]!r}: {schemas[:200]}")
        return json.loads(schemas) if schemas else ()

    def _filled(self, frame: _Frame, messages: Sequence[str], rendered: str) -> Ids:
        kept = [m.strip() if strips else m for m, strips in zip(messages, frame.strips, strict=True)]
        if rendered != "".join(itertools.chain(*zip(frame.texts, [*kept, ""], strict=True))):
            raise ModelFailure(f"{self.name} changes one of the texts {[m[:80] for m in messages]}; {_REMEDY}")
        contents = [*map(self._encode, kept), ()]
        return tuple(i for pair in zip(frame.ids, contents, strict=True) for ids in pair for i in ids)

    def render(self, messages: Messages, is_asking: bool = True, tools: Tools = ()) -> str:
        """Return the template's text; with the generation prompt where `is_asking`."""
        apply = self._tokenizer.apply_chat_template
        try:
            return str(apply(messages, tools=tools or None, add_generation_prompt=is_asking, tokenize=False))
        except TemplateError as error:
            raise ConfigError(f"{self.name} cannot be used: {error}; {_REMEDY}") from error

    def encode_frame(self, text: str) -> Ids:
        """Return ids with special tokens recognised."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def cut(self, text: str, placeholder: str) -> tuple[str, str, bool]:
        """Return what stands before and after a message, and whether the message was stripped."""
        for shown in (placeholder, placeholder.strip()):
            before, found, after = text.partition(shown)
            is_whole = shown == placeholder or placeholder[0] not in (before[-1:], after[:1])
            if found and is_whole and shown.strip() not in after:
                return before, after, shown != placeholder
        raise ConfigError(f"{self.name} does not show a message once and as it is: {text!r:.300}; {_REMEDY}")

    def closing(self, text: str) -> tuple[Ids, int]:
        """Return the ids of the text after a reply, and the place of the one that closes the reply."""
        ids = self.encode_frame(text)
        place = next((i for i, token in enumerate(ids) if token in self._marks), None)
        if place is None or self._tokenizer.decode(list(ids[:place])).strip():
            raise ConfigError(
                f"{self.name} closes a reply with {text!r:.80}, which does not begin with a special token of this "
                "tokenizer; set model.chat_template to that of the model's family"
            )
        return ids, place


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the template says around messages."""

    texts: tuple[str, ...]  # before each message, and after the last one
    ids: tuple[Ids, ...]  # of the texts
    strips: tuple[bool, ...]  # whether it strips each message


class _Shape:
    """The conversations with, or without, a system message, and with these tools."""

    def __init__(self, template: ChatTemplate, system: str | None, tools: Tools) -> None:
        self.system, self.tools = system, tools
        self._template = template
        self._stable = 1  # turns that are known to be

    @cached_property
    def first(self) -> str:
        """The first prompt, with placeholders."""
        prompt = self._prompt(0)
        if hidden := [name for tool in self.tools if (name := tool["function"]["name"]) not in prompt]:
            raise ConfigError(
                f"{self._template.name} does not show tools, such as {hidden[0]!r}: set model.chat_template to one "
                "that does, or agent.context.chat.tools = false"
            )
        return prompt

    @cached_property
    def opening(self) -> _Frame:
        """Around the messages of the first prompt."""
        placeholders = (_USER,) if self.system is None else (self.system, _USER)
        texts, strips, rest = [], [], self.first
        for placeholder in placeholders:
            before, rest, is_stripped = self._template.cut(rest, placeholder)
            texts.append(before)
            strips.append(is_stripped)
        texts.append(rest)
        return _Frame(tuple(texts), tuple(map(self._template.encode_frame, texts)), tuple(strips))

    @cached_property
    def _turn(self) -> tuple[str, str]:
        """What a turn adds: up to its reply's end, and from there on."""
        second = self._prompt(1)
        blank, after, _ = self._template.cut(second.removeprefix(self.first), _REPLY)
        if blank.strip():  # words for the model, or the whole prompt where it does not begin with the first one
            raise self._unstable(1, self.first, second)
        return f"{blank}{_REPLY}", after

    @property
    def stem(self) -> str:
        """What stands between the first prompt and the end of its reply."""
        return self._turn[0]

    @cached_property
    def following(self) -> _Frame:
        """Around the message after a reply that is closed; the texts begin with what closes it, the ids do not."""
        before, after, is_stripped = self._template.cut(self._turn[1], _USER)
        ids, place = self._template.closing(before)
        return _Frame((before, after), (ids[place + 1 :], self._template.encode_frame(after)), (is_stripped,))

    def check(self, turn: int) -> None:
        """See to it that the template is known to be stable up to `turn`."""
        if turn <= self._stable:
            return
        ahead = 1 << (turn - 1).bit_length()
        added = "".join(self._turn)
        if self._prompt(ahead) != self.first + ahead * added:
            wrong = next(t for t in range(2, ahead + 1) if self._prompt(t) != self.first + t * added)
            raise self._unstable(wrong, self.first + wrong * added, self._prompt(wrong))
        self._stable = ahead

    def _prompt(self, num_replies: int) -> str:
        return self._template.render(_conversation(num_replies, self.system, _USER), tools=self.tools)

    def _unstable(self, turn: int, expected: str, came: str) -> ConfigError:
        at = next((i for i, (a, b) in enumerate(zip(expected, came, strict=False)) if a != b), len(expected))
        return ConfigError(
            f"{self._template.name} does not append the same at every turn: turn {turn + 1} says "
            f"{came[at : at + 60]!r} where turn {turn} leads to {expected[at : at + 60]!r}; {_REMEDY}"
        )


def _conversation(num_replies: int, system: str | None, text: str) -> Messages:
    """Return placeholders for so many turns, and `text` as the message to answer."""
    opening = [] if system is None else [_message("system", system)]
    turn = [_message("user", _USER), _message("assistant", _REPLY)]
    return [*opening, *turn * num_replies, _message("user", text)]


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
