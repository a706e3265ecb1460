"""Encodes rendered conversations in which the chat template alone can write control tokens.

Texts from outside are marked before they are rendered: each control token that they spell out has a private character
behind its first one. The rendered text is encoded in pieces, cut at these marks, so that no spelled token is whole.
`sanitize_control_tokens` of transformers does the same since 5.20; vLLM is tested with an older one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MARK = "\ue0f7"  # of the private use area


class ControlTokens:
    """The added tokens of a tokenizer: those of its templates, and any other."""

    def __init__(self, tokenizer: Any) -> None:  # Any: a transformers tokenizer
        self._tokenizer = tokenizer
        words = [token.content for token in tokenizer.added_tokens_decoder.values() if token.content.strip()]
        self._first = {word[0] for word in words}
        self._spelled = re.compile(f"(?=(?:{'|'.join(map(re.escape, words)) or '(?!)'}))(.)", re.DOTALL)
        self._newline = self._encode("\n")

    def mark(self, value: Any) -> Any:  # Any: JSON
        """Return JSON with marks in the control tokens that its texts and keys spell out."""
        if isinstance(value, str):
            text = value.replace(_MARK, "")
            return self._spelled.sub(rf"\1{_MARK}", text) if any(first in text for first in self._first) else text
        if isinstance(value, Mapping):
            return {self.mark(key): self.mark(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.mark(item) for item in value]
        return value

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text that was rendered from marked ones."""
        first, *others = text.split(_MARK)
        return (*self._encode(first), *(i for piece in others for i in self._continued(piece)))

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _continued(self, piece: str) -> list[int]:
        """Return the ids of a piece behind another: some tokenizers put a blank in front of a text that begins."""
        ids = self._encode(f"\n{piece}")
        return ids[len(self._newline) :] if ids[: len(self._newline)] == self._newline else self._encode(piece)
