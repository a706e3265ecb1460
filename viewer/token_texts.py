"""Texts of token ids, by the tokenizer of the run's newest checkpoint or of the evaluated agent; loads no model.

A token's text is what it adds to those before it: half a character shows as its replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from cairn.core.store import RunStore
from cairn.viewer.catalog import RunPlace


class TokenTexts:
    """Turns ids into texts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer."""
        self._tokenizer = tokenizer

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each id."""
        return [self._tokenizer.decode([i], skip_special_tokens=False) for i in ids]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of all."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))


def token_texts(place: RunPlace, store: RunStore) -> TokenTexts | None:
    """Return what the run's tokenizer says; None: there is none that can be read."""
    file = place.tokenizer_file(store)
    return None if file is None else _load(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load(file: Path, changed: int) -> TokenTexts | None:
    try:
        return TokenTexts(Tokenizer.from_file(str(file)))
    except Exception:  # noqa: BLE001  (the library raises Exception itself where a file is no tokenizer)
        return None
