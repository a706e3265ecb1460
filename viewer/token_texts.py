"""Texts of token ids, by the tokenizer of the newest checkpoint or of the evaluated agent.

No model is loaded. Each token is decoded alone: a partial character shows as the replacement character.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from cairn.core.store import RunStore
from cairn.viewer.catalog import RunPlace


class TokenTexts:
    """Converts token ids to texts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Use this tokenizer."""
        self._tokenizer = tokenizer

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each id."""
        return [self._tokenizer.decode([i], skip_special_tokens=False) for i in ids]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of all ids together."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))


def token_texts(place: RunPlace, store: RunStore) -> TokenTexts | None:
    """Return the decoder of the run's tokenizer, or None if it is missing or unreadable."""
    file = place.tokenizer_file(store)
    return None if file is None else _load(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load(file: Path, changed: int) -> TokenTexts | None:
    try:
        return TokenTexts(Tokenizer.from_file(str(file)))
    except Exception:  # noqa: BLE001  (the library raises Exception itself for an invalid file)
        return None
