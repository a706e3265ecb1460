"""Converts text to index terms like Lucene's EnglishAnalyzer.

The steps are UAX#29 tokens, removal of possessives and stop words, and stemming. Tokens follow Lucene 9's
StandardTokenizer (Unicode word breaks; a colon, full stop or apostrophe between letters joins them; an ideograph, a
hiragana letter and an emoji are each a token). Stems are Porter's with Martin Porter's own extensions; tokens of one or
two characters stay unchanged. Lucene's optional exclusion sets are not supported.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import regex

_STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_POSSESSIVE = tuple(f"{mark}{s}" for mark in "'\u2019\uff07" for s in "sS")
_HAS_LETTER = re.compile("[a-z]")
_MAX_TOKEN = 255  # longer tokens are cut into pieces of this many characters

_X = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_JOIN = rf"(?:\p{{WB=ExtendNumLet}}{_X})"
_NUM = rf"(?:\p{{WB=Numeric}}{_X})"
_LETTER = rf"(?:[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]{_X})"
_KATAKANA = rf"(?:\p{{WB=Katakana}}{_X})"
_MID_LETTER = rf"(?:[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_X})"
_MID_NUM = rf"(?:[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_X})"
_RUN = (
    rf"(?:{_KATAKANA}(?:{_JOIN}*+{_KATAKANA})*"
    rf"|(?:{_NUM}(?:(?:{_JOIN}*+|{_MID_NUM}){_NUM})*|{_LETTER}(?:(?:{_JOIN}*+|{_MID_LETTER}){_LETTER})*)+)"
)
_WORD = rf"{_JOIN}*+{_RUN}(?:{_JOIN}++{_RUN})*{_JOIN}*+"
_NO_WORD = rf"{_JOIN}++(*SKIP)(*FAIL)"  # a run of underscores is scanned once, not once from each underscore
# Extended_Pictographic as of Unicode 12, which Lucene 9 uses; later versions exclude many of these symbols.
_PICTURE = (
    r"[\u00A9\u00AE\u203C\u2049\u2122\u2139\u2194-\u2199\u21A9\u21AA\u231A\u231B\u2328\u2388\u23CF\u23E9-\u23F3"
    r"\u23F8-\u23FA\u24C2\u25AA\u25AB\u25B6\u25C0\u25FB-\u25FE\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705"
    r"\u2708-\u2712\u2714\u2716\u271D\u2721\u2728\u2733\u2734\u2744\u2747\u274C\u274E\u2753-\u2755\u2757\u2763-\u2767"
    r"\u2795-\u2797\u27A1\u27B0\u27BF\u2934\u2935\u2B05-\u2B07\u2B1B\u2B1C\u2B50\u2B55\u3030\u303D\u3297\u3299"
    r"\U0001F000-\U0001F0FF\U0001F10D-\U0001F10F\U0001F12F\U0001F16C-\U0001F171\U0001F17E\U0001F17F\U0001F18E"
    r"\U0001F191-\U0001F19A\U0001F1AD-\U0001F1E5\U0001F201-\U0001F20F\U0001F21A\U0001F22F\U0001F232-\U0001F23A"
    r"\U0001F23C-\U0001F23F\U0001F249-\U0001F3FA\U0001F400-\U0001F53D\U0001F546-\U0001F64F\U0001F680-\U0001F6FF"
    r"\U0001F774-\U0001F77F\U0001F7D5-\U0001F7FF\U0001F80C-\U0001F80F\U0001F848-\U0001F84F\U0001F85A-\U0001F85F"
    r"\U0001F888-\U0001F88F\U0001F8AE-\U0001F8FF\U0001F90C-\U0001F93A\U0001F93C-\U0001F945\U0001F947-\U0001FFFD]"
)
_EMOJI = rf"(?:{_PICTURE}\uFE0F?[\U0001F3FB-\U0001F3FF]?|[\d#*]\uFE0F\u20E3?)"
_FLAG = r"[\U0001F1E6-\U0001F1FF]{2}"
_TOKEN = regex.compile(
    rf"{_EMOJI}(?:\u200D{_EMOJI})*|{_FLAG}|{_WORD}|\p{{Script=Han}}{_X}|\p{{Script=Hiragana}}{_X}"
    rf"|\p{{LB=Complex_Context}}+|{_NO_WORD}"
)
_ASCII_TOKEN = re.compile(
    r"(?<!_)_*[A-Za-z0-9][A-Za-z0-9_]*"
    r"(?:(?:(?<=[A-Za-z])[:.'](?=[A-Za-z])|(?<=[0-9])[.,;'](?=[0-9]))[A-Za-z0-9_]+)*"
)


def terms(text: str) -> list[str]:
    """Return the index terms of a text, in order, with repetitions."""
    return [term for token in tokens(text) if (term := stem(token)) is not None]


def tokens(text: str) -> list[str]:
    """Return the tokens of a text before any of them is lower-cased, stemmed or dropped."""
    # No token contains a blank, and most words are ASCII, which the standard library's engine splits ten times faster.
    if text.isascii():
        found: list[str] = _ASCII_TOKEN.findall(text)
    else:
        words = text.split(" ")  # only at blanks, since U+202F joins words
        found = [t for word in words for t in (_ASCII_TOKEN if word.isascii() else _TOKEN).findall(word)]
    if any(len(token) > _MAX_TOKEN for token in found):
        return [token[i : i + _MAX_TOKEN] for token in found for i in range(0, len(token), _MAX_TOKEN)]
    return found


@lru_cache(maxsize=1 << 18)
def stem(token: str) -> str | None:
    """Return a token's term; None for a stop word."""
    if token[-2:] in _POSSESSIVE:
        token = token[:-2]
    token = "".join(c.lower()[0] for c in token)  # character by character, as Java does
    if token in STOP_WORDS:
        return None
    if len(token) <= 2 or not _HAS_LETTER.search(token):  # numbers such as 29.99 have no suffix
        return token
    term: str = _stemmer().stem(token, to_lowercase=False)
    return term


@lru_cache(maxsize=1)
def _stemmer() -> Any:  # Any: nltk has no types
    # nltk takes a second to import, so it is imported only for the first word that no index contains.
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
