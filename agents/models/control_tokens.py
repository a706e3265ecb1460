"""Encodes rendered conversations so that only the chat template can produce control tokens.

External texts are marked before rendering: in each control token that they spell out, a private character is inserted
after its first character. The rendered text is split at these marks and encoded in pieces, so that no spelled token is
whole. transformers 5.20 and later offer the same as `sanitize_control_tokens`; vLLM is tested with an older version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MARK = "\ue0f7"  # in Unicode's private use area


class ControlTokens:
    """The added tokens of a tokenizer, such as those of its templates."""

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
        """Return the ids of a text rendered from marked texts."""
        first, *others = text.split(_MARK)
        return (*self._encode(first), *(i for piece in others for i in self._continued(piece)))

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _continued(self, piece: str) -> list[int]:
        """Return the ids of a piece that follows another.

        Some tokenizers prepend a blank at the start of a text, so the piece is encoded behind a newline.
        """
        ids = self._encode(f"\n{piece}")
        return ids[len(self._newline) :] if ids[: len(self._newline)] == self._newline else self._encode(piece)
