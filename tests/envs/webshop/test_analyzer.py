"""Tokens and terms against cases worked out by hand from UAX#29 and Porter's rules, and against Lucene's own."""

from __future__ import annotations

import gzip
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.envs.webshop import analyzer
from cairn.envs.webshop.analyzer import STOP_WORDS, stem, terms, tokens
from tests.envs.webshop import tiny

JOINED = [  # each is one token
    "don't", "don\u2019t", "rock'n'roll", "description:solid", "e.g", "a.b:c'd", "1.5", "3,000.50", "6'2", "1;2",
    "1\u20442", "x_y", "_x", "x_", "__x__1__", "a1b2", "7up", "m\u00fcller", "e\u0301te\u0301", "a\u200db",
    "10\u202f000", "\ud55c\uad6d\uc5b4", "\u30ab\u30bf\u30ab\u30ca", "\u30ab_\u30bf", "\u0444\u044b\u0432",
    "\u05e9\u05dc\u05d5\u05dd",
    "\u0e44\u0e17\u0e22",
]  # fmt: skip
CUT = [
    ("wi-fi 4+ c# a/b", ["wi", "fi", "4", "c", "a", "b"]),
    ("e.g. U.S.A.", ["e.g", "U.S.A"]),
    ("a,b a;b a..b a.'b", ["a", "b", "a", "b", "a", "b", "a", "b"]),  # letters: no comma, and one mark at a time
    ("1:2 1..2 1,'2 1_,2", ["1", "2", "1", "2", "1", "2", "1_", "2"]),  # digits: no colon
    ("a1.b 1.b a.1", ["a1", "b", "1", "b", "a", "1"]),  # a mark between a letter and a digit joins nothing
    ("'tis 6'2\" dogs'", ["tis", "6'2", "dogs"]),
    ("_ __ ' . : \u00bd \u2044", []),
    ("\u6f22\u5b57a", ["\u6f22", "\u5b57", "a"]),  # ideographs one by one
    ("\u3072\u3089\u304c", ["\u3072", "\u3089", "\u304c"]),  # hiragana one by one
    ("\u30ab\u30bf\u3072\u30ab", ["\u30ab\u30bf", "\u3072", "\u30ab"]),  # katakana in runs
    ("\u2605\u2122\u00ae\u00a9\u2606\u2713\u2714", ["\u2605", "\u2122", "\u00ae", "\u00a9", "\u2714"]),
    ("ok\U0001f44d\U0001f3fd!\u2764\ufe0f", ["ok", "\U0001f44d\U0001f3fd", "\u2764\ufe0f"]),
    ("\U0001f468\u200d\U0001f469\u200d\U0001f467\u2605", ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2605"]),
    ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"]),
    ("1\ufe0f\u20e3 #\ufe0f\u20e3 #", ["1\ufe0f\u20e3", "#\ufe0f\u20e3"]),
]  # fmt: skip
STEMS = {
    "caresses": "caress", "ponies": "poni", "agreed": "agre", "plastered": "plaster", "hopping": "hop",
    "falling": "fall", "happy": "happi", "sky": "sky", "relational": "relat", "vietnamization": "vietnam",
    "electrical": "electr", "adjustment": "adjust", "effective": "effect", "rate": "rate", "controll": "control",
    "dyed": "dy",
    "archaeology": "archaeolog",  # Martin's logi -> log; Porter's paper leaves archaeologi
    "possibly": "possibl",  # Martin's bli -> ble, then the e goes; the paper leaves possibli
    "us": "us", "ids": "id", "tv's": "tv", "4s": "4s", "t's": "t", "running's": "run",
}  # fmt: skip


@pytest.mark.parametrize("text", JOINED, ids=ascii)
def test_a_word_is_one_token(text: str) -> None:
    assert tokens(text) == [text]
    assert tokens(f"({text}) \u00e9") == [text, "\u00e9"]


@pytest.mark.parametrize(("text", "expected"), CUT, ids=[ascii(text) for text, _ in CUT])
def test_texts_are_cut_into_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(("word", "expected"), STEMS.items())
def test_words_are_stemmed_with_the_authors_own_extensions(word: str, expected: str) -> None:
    assert terms(word) == [expected]
    assert terms(word.upper()) == [expected]


def test_possessives_are_dropped_in_three_apostrophes_before_case_and_stop_words_are_looked_at() -> None:
    assert terms("dog's DOG'S dog\u2019s DOG\u2019S") == ["dog"] * 4
    assert stem("dog\uff07s") == stem("DOG\uff07S") == "dog"
    assert terms("it's that\u2019s THE") == []


def test_stop_words_are_dropped_whole_and_only_those() -> None:
    assert len(STOP_WORDS) == 33
    assert terms(" ".join(STOP_WORDS)) == terms(" ".join(STOP_WORDS).upper()) == []
    assert terms("theirs i you from") == ["their", "i", "you", "from"]


def test_letters_are_lowered_one_by_one() -> None:
    assert stem("\u0130\u0130") == "ii"  # as Java does; Python's lower() gives an i and a dot
    assert stem("\u039f\u03a3") == "\u03bf\u03c3"  # no final sigma


def test_terms_keep_order_and_repetitions() -> None:
    assert terms("Red lamps and a red lamp") == ["red", "lamp", "red", "lamp"]


def test_tokens_of_more_than_255_characters_are_cut() -> None:
    assert [len(token) for token in tokens("a" * 255)] == [255]
    assert [len(token) for token in tokens("b " + "a" * 600 + " c")] == [1, 255, 255, 90, 1]


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_cut_into_pieces_of_itself(text: str) -> None:
    at = 0
    for token in tokens(text):
        at = text.index(token, at) + len(token)
        assert 0 < len(token) <= 255
        stem(token)  # never raises


def test_lone_surrogates_and_control_characters_part_words() -> None:
    assert terms("red\ud800lamp\x00desk\x1b[2Jrug\n\u2028mug") == ["red", "lamp", "desk", "2jrug", "mug"]


@given(st.text("aB12_.,:;'\" -\n\t", max_size=24))
def test_the_short_way_for_ascii_cuts_as_the_whole_rules_do(text: str) -> None:
    assert tokens(text) == analyzer._TOKEN.findall(text)


@given(st.text("a1_.:' \u00e9\u0301\u202f\u200d\u30ab\U0001f44d", max_size=16))
def test_cutting_at_blanks_first_changes_nothing(text: str) -> None:
    assert tokens(text) == analyzer._TOKEN.findall(text)


@pytest.mark.parametrize(
    "text",
    ["_", "_\u0301", "_'", "a_", "a'", "1,\u0301", "\u30ab_", "a\u200d", "\U0001f468\u200d", "#\ufe0f", "y", "\u00e9 "],
)
def test_hostile_repetitions_take_time_in_proportion(text: str) -> None:
    """A parser that looks back from each of their characters takes minutes for these."""
    tokens(text)
    begin = time.process_time()
    tokens(text * (100_000 // len(text)))
    assert time.process_time() - begin < 2.0


def test_lucenes_own_terms_of_the_1000_products_are_reproduced() -> None:
    documents = tiny.rows("lucene_docs_1k.jsonl.gz")
    with gzip.open(tiny.data_folder() / "lucene_termvectors_1k.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        vectors = [line.rstrip("\n").split("\t") for line in file]
    assert len(documents) == len(vectors) == 1000
    for document, vector in zip(documents, vectors, strict=True):
        fields = [field for field in vector if field]
        expected = {term: int(count) for term, count in zip(fields[::2], fields[1::2], strict=True)}
        assert Counter(terms(document["contents"])) == expected, document["id"]
