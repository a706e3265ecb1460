"""Encodes conversations: the first prompt, and the tokens between one reply and the next.

A chat template is applied turn by turn. Sampled replies are never re-encoded. The text between two replies is rendered
behind a short conversation that ends in a reply of the same shape, encoded as one text, and cut after the token that
closes this reply. So the ids are exactly those of the template, even where the tokenizer merges across message
boundaries. Control tokens that a message spells out are encoded as ordinary text (`agents.models.control_tokens`).

This requires an append-only template. `ChatTemplate.check` renders whole conversations with each kind of turn and
compares them with their parts: for the first turns when an agent is loaded, and for later turns as episodes get longer.
A template that rewrites earlier turns, or drops their thoughts, is rejected.

Not supported: images, and templates that begin the model's reply in the prompt and later remove that beginning; the
latter are rejected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import TemplateError

from cairn.agents.models.control_tokens import ControlTokens
from cairn.agents.models.layouts import Following, Ids, Message, Tools, message, reply_message
from cairn.agents.models.templates import suitable_templates, title
from cairn.agents.tool_calls import ToolCall
from cairn.core.errors import ConfigError, ModelFailure

# Placeholders. The white space around the first two disappears if a template strips messages.
_SYSTEM, _USER, _REPLY = "\f<<system>>\f", "\t<<user>>\t", "<<reply>>"
_RESULT = "<<result>>"
_OPENED = re.compile(r"<think>\s*\Z")  # a prompt that opens the thought of a reply
_THOUGHT = "<think>\n<<thought>>\n</think>\n\n"
_FIRST_TURNS = 4  # includes every kind of turn
_MAX_SHAPES = 64  # number of tool lists with a cached check
_MAX_KNOWN, _MAX_KNOWN_CHARS = 4096, 2_000  # cached texts between replies; longer ones are not cached


class ChatTemplate:
    """A tokenizer's chat template.

    Raises:
        ConfigError: it cannot be rendered, changes every message, or closes replies with no token of the tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:  # Any: a transformers tokenizer
        self._tokenizer, self._control = tokenizer, ControlTokens(tokenizer)
        self._marks = {i for i, token in tokenizer.added_tokens_decoder.items() if token.content.strip()}
        self.name = title(str(tokenizer.chat_template), str(tokenizer.name_or_path))
        user, reply = message("user", _USER), message("assistant", _REPLY)
        asking, answered = self._rendered([user], is_asking=True), self._rendered([user, reply])
        self._require_shown(asking, _USER)
        self.opened = found.group() if (found := _OPENED.search(asking)) else ""
        self.closing = self._control.encode("\n</think>\n\n") if self.opened else ()
        self.end_id = self._closing_id(self._require_shown(answered, _REPLY))
        frames = {*self._encoded([user], is_asking=True), *self._encoded([user, reply])}
        self.mark_ids = frozenset(self._marks & frames)
        self._stable: dict[tuple[bool, str], int] = {}  # number of checked turns, by system message and tools
        self._several: dict[str, bool] = {}  # by a tool's name: see `takes_several_calls`
        self._known: dict[object, Ids] = {}  # ids of `following` after a closed reply, and of `reply`

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt.

        It has the system message, tool schemas, the user message and the generation prompt.

        Raises:
            ConfigError: the template does not show the tools.
            ModelFailure: the tokenizer cannot encode a text, or a schema spells out a special token.
        """
        self._require_shape(has_system=system is not None, tools=tools)
        return self._encoded([*_system(system), message("user", text)], tools, is_asking=True)

    def following(
        self, turn: int, after: Following, *, is_closed: bool, has_system: bool = False, tools: Tools = ()
    ) -> Ids:
        """Return the ids between two replies: end of the reply's frame, messages, generation prompt.

        See `ChatLayout` for the arguments.

        Raises:
            ConfigError: the template is not append-only up to this turn.
            ModelFailure: as for `opening`.
        """
        self._check(turn, has_system, tools)
        if len(after.calls) > 1 and not self.takes_several_calls(tools):  # only the first call is executed
            after = Following(after.texts[:1], after.calls[:1])
        key = (after, has_system, json.dumps(tools)) if sum(map(len, after.texts)) <= _MAX_KNOWN_CHARS else None
        ids = self._remembered(key, lambda: self._between(after, has_system, tools))
        return ids if is_closed else (self.end_id, *ids)

    def reply(self, calls: Sequence[ToolCall], tools: Tools) -> Ids:
        """Return the ids of a reply with these calls, as the template writes it, ending in `end_id`.

        Raises:
            ConfigError: the template puts other tokens before such a reply than its prompt has.
        """
        user, assistant = message("user", _USER), reply_message("", calls)

        def written() -> Ids:
            if self.opened:  # the marks of an empty thought may merge into one token
                asked, text = (self._marked(m, tools, is_asking=len(m) == 1) for m in ([user], [user, assistant]))
                if not text.startswith(asked):
                    raise self._unstable(1, asked, text)
                return self._cut(self._control.encode(text[len(asked) :]))
            asking, answered = self._encoded([user], tools, is_asking=True), self._encoded([user, assistant], tools)
            if answered[: len(asking)] != asking:
                raise self._unstable(1, asking, answered)
            return self._cut(answered)[len(asking) :]

        return self._remembered((tuple(calls), json.dumps(tools)), written)

    def check(self, *, has_system: bool, tools: Tools = ()) -> None:
        """Check that the template is append-only with these tools; see `ChatLayout`."""
        self._require_shape(has_system=has_system, tools=tools)
        self._check(_FIRST_TURNS, has_system, tools)

    def takes_several_calls(self, tools: Tools) -> bool:
        """Return whether the template can render a reply with two calls."""
        name = str(tools[0]["function"]["name"]) if tools else ""
        if (known := self._several.get(name)) is None:
            calls = [ToolCall(f"abcdefgh{number}", name, "{}") for number in (1, 2)]
            try:
                self._rendered([message("user", _USER), reply_message("", calls)], tools)
                known = True
            except ConfigError:
                known = False
            self._several[name] = known
        return known

    def _remembered(self, key: object, make: Callable[[], Ids]) -> Ids:
        """Return the cached ids of a key, or make and cache them; with the key None, do not cache."""
        if key is None or (found := self._known.get(key)) is None:
            found = make()
            if key is not None:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[key] = found
        return found

    # -- rendering ---------------------------------------------------------------------------------------------------

    def _rendered(self, messages: Sequence[Message], tools: Tools = (), *, is_asking: bool = False) -> str:
        """Return the template's text, with the generation prompt if `is_asking`."""
        apply, offered = self._tokenizer.apply_chat_template, list(tools) or None
        try:
            return str(apply(list(messages), tools=offered, add_generation_prompt=is_asking, tokenize=False))
        except TemplateError as error:
            raise ConfigError(f"{self.name} cannot be used: {error}; {self._remedy()}") from error

    def _encoded(self, messages: Sequence[Message], tools: Tools = (), *, is_asking: bool = False) -> Ids:
        """Return the ids of the template's text; no message can produce a control token."""
        ids = self._control.encode(self._marked(messages, tools, is_asking=is_asking))
        if self._tokenizer.unk_token_id is not None and self._tokenizer.unk_token_id in ids:
            raise ModelFailure(
                f"The tokenizer cannot encode one of the texts {[str(m['content'])[:80] for m in messages]}; use one "
                "with byte fallback, or train one on the environment's text"
            )
        return ids

    def _marked(self, messages: Sequence[Message], tools: Tools, *, is_asking: bool) -> str:
        """Return the template's text, with marks in the control tokens that messages spell out."""
        mark = self._control.mark
        marked = [{**mark(each), **({"content": each["content"]} if _is_ours(each) else {})} for each in messages]
        return self._rendered(marked, mark(tools), is_asking=is_asking)

    def _between(self, after: Following, has_system: bool, tools: Tools) -> Ids:
        """Return the ids after a reply's closing id, up to the next reply."""
        before = [*_system(_SYSTEM if has_system else None), message("user", _USER), after.reply(_REPLY)]
        for _ in range(2):  # retry once: a template with the date can change at midnight
            closed = self._cut(self._encoded(before, tools))
            whole = self._encoded([*before, *after.messages()], tools, is_asking=True)
            if whole[: len(closed)] == closed:
                return whole[len(closed) :]
        raise self._unstable(1, closed, whole)

    def _cut(self, ids: Ids) -> Ids:
        """Return the ids up to and with the last closing id."""
        return ids[: len(ids) - ids[::-1].index(self.end_id)]

    # -- checks ------------------------------------------------------------------------------------------------------

    def _require_shape(self, *, has_system: bool, tools: Tools) -> None:
        """Check that the template shows messages and tools."""
        key = has_system, json.dumps(tools)
        if key in self._stable:
            return
        added = self._tokenizer.added_tokens_decoder.values()
        if spelled := [token.content for token in added if token.special and tools and token.content in key[1]]:
            raise ModelFailure(f"The schema of a tool spells out the special token {spelled[0]!r}: {key[1][:200]}")
        prompt = self._rendered(
            [*_system(_SYSTEM if has_system else None), message("user", _USER)], tools, is_asking=True
        )
        for placeholder in (_SYSTEM, _USER) if has_system else (_USER,):
            self._require_shown(prompt, placeholder)
        if hidden := [name for tool in tools if (name := tool["function"]["name"]) not in prompt]:
            raise ConfigError(
                f"{self.name} does not show tools, such as {hidden[0]!r}; {self._remedy()}, or "
                "agent.context.chat.tools = false"
            )
        if len(self._stable) >= _MAX_SHAPES:
            self._stable.clear()
        self._stable[key] = 0

    def _check(self, turn: int, has_system: bool, tools: Tools) -> None:
        """Check that the template is append-only up to `turn`."""
        self._require_shape(has_system=has_system, tools=tools)
        key = has_system, json.dumps(tools)
        known = self._stable[key]
        if turn <= known:
            return
        ahead = max(_FIRST_TURNS, 1 << (turn - 1).bit_length())
        kinds = _kinds(tools, self.takes_several_calls(tools))
        for number in range(1, _FIRST_TURNS + 1) if known == 0 else ():
            self._check_turn(number, kinds, has_system, tools)
        try:
            self._check_turn(ahead, kinds, has_system, tools)
        except ConfigError:
            for number in range(max(known, _FIRST_TURNS), ahead):  # find the first failing turn for the message
                self._check_turn(number, kinds, has_system, tools)
            raise
        self._stable[key] = ahead

    def _check_turn(self, turn: int, kinds: Sequence[tuple[str, Following]], has_system: bool, tools: Tools) -> None:
        """Check that the prompt after `turn` replies is the previous prompt plus the added ids."""
        messages = [*_system(_SYSTEM if has_system else None), message("user", _USER)]
        for number in range(turn - 1):
            content, after = kinds[number % len(kinds)]
            messages += [after.reply(content), *after.messages()]
        content, after = kinds[(turn - 1) % len(kinds)]
        asking = self._rendered(messages, tools, is_asking=True)
        messages.append(after.reply(content))
        answered = self._rendered(messages, tools)
        if not answered.startswith(asking):
            raise self._unstable(turn, asking, answered)
        expected = (*self._cut(self._encoded(messages, tools)), *self._between(after, has_system, tools))
        whole = self._encoded([*messages, *after.messages()], tools, is_asking=True)
        if whole != expected:
            raise self._unstable(turn, expected, whole)

    def _unstable(self, turn: int, expected: Ids | str, came: Ids | str) -> ConfigError:
        texts = [ids if isinstance(ids, str) else self._tokenizer.decode(list(ids)) for ids in (expected, came)]
        least = min(map(len, texts))
        at = next((i for i in range(least) if texts[0][i] != texts[1][i]), least)
        return ConfigError(
            f"{self.name} does not only append: at turn {turn + 1} it renders {texts[1][at : at + 60]!r} in place of "
            f"{texts[0][at : at + 60]!r}; {self._remedy()}"
        )

    def _require_shown(self, text: str, placeholder: str) -> str:
        """Return the text after a message, which must appear once, verbatim or stripped."""
        for shown in (placeholder, placeholder.strip()):
            before, found, after = text.partition(shown)
            is_whole = shown == placeholder or placeholder[0] not in (before[-1:], after[:1])
            if found and is_whole and shown.strip() not in after:
                return after
        raise ConfigError(f"{self.name} does not show a message once and as it is: {text!r:.300}; {self._remedy()}")

    def _closing_id(self, text: str) -> int:
        """Return the id that closes a reply, from the text after it."""
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        place = next((i for i, token in enumerate(ids) if token in self._marks), None)
        if place is None or self._tokenizer.decode(ids[:place]).strip():
            raise ConfigError(
                f"{self.name} closes a reply with {text!r:.80}, which does not begin with a special token of this "
                "tokenizer; set model.chat_template to that of the model's family"
            )
        return int(ids[place])

    def _remedy(self) -> str:
        names = suitable_templates(str(self._tokenizer.chat_template))
        return f"set model.chat_template to one that does, such as {' or '.join(names)} (docs/contexts.md)"


def _kinds(tools: Tools, takes_several: bool) -> list[tuple[str, Following]]:
    """Return a reply's text and the messages after it, for each kind of turn."""
    user = Following((_USER,))
    if not tools:
        return [(_REPLY, user), (f"{_THOUGHT}{_REPLY}", user)]
    name = str(tools[0]["function"]["name"])
    one = Following((_RESULT,), (ToolCall("abcdefgh1", name, "{}"),))
    calls = ToolCall("abcdefgh2", name, "{}"), ToolCall("abcdefgh3", name, "{}")
    two = Following((_RESULT, _RESULT), calls) if takes_several else one
    return [("", one), (_THOUGHT, two), (f"{_THOUGHT}{_REPLY}", user), (_THOUGHT, one)]


def _system(text: str | None) -> list[Message]:
    return [] if text is None else [message("system", text)]


def _is_ours(message: Message) -> bool:
    """Return whether a message is a placeholder reply of this module.

    Its text stays unmarked, because templates may search it for a thought.
    """
    return bool(message["role"] == "assistant")
