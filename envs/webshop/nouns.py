"""Finds the nouns of a product's name, for the reward of products other than the goal's.

``stub`` counts every word that begins with a letter as a noun, like the published reference episodes of the original;
``spacy`` is the original's own tagger, spaCy with the model en_core_web_sm, which must be installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

from cairn.core.errors import CairnError, MissingExtraError

Tagger = Callable[[str], tuple[str, ...]]
Name = Literal["stub", "spacy"]
_WORD = re.compile(r"\b[^\W\d_]\w*")
_MODEL = "en_core_web_sm"


def tagger(name: Name) -> Tagger:
    """Return a function from a text to its nouns in lower case, in order, with repetitions.

    Raises:
        MissingExtraError: "spacy" is not installed.
        CairnError: its model is not installed.
    """
    return stub if name == "stub" else _spacy()


@lru_cache(maxsize=1 << 14)
def stub(text: str) -> tuple[str, ...]:
    """Return all words that begin with a letter."""
    return tuple(word.lower() for word in _WORD.findall(text))


@lru_cache(maxsize=1)
def _spacy() -> Tagger:
    try:
        import spacy  # type: ignore[import-not-found,unused-ignore]  # an extra
    except ImportError:
        raise MissingExtraError("noun_tagger='spacy'", "webshop") from None
    try:
        parse: Any = spacy.load(_MODEL)  # Any: spaCy's own type
    except OSError:
        raise CairnError(
            f"noun_tagger='spacy' needs spaCy's model {_MODEL}: python -m spacy download {_MODEL}; "
            "noun_tagger='stub' needs nothing"
        ) from None

    @lru_cache(maxsize=1 << 14)
    def nouns(text: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in parse(text) if token.pos_ in ("NOUN", "PROPN"))

    return nouns
