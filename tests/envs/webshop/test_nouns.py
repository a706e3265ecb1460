"""Taggers: the references' own, and spaCy's as far as it can be tested without spaCy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from cairn.core.errors import CairnError, MissingExtraError
from cairn.envs.webshop import nouns
from cairn.envs.webshop.nouns import stub, tagger


@pytest.fixture
def spacy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Put an empty module in the place of spaCy."""
    module = ModuleType("spacy")
    monkeypatch.setitem(sys.modules, "spacy", module)
    nouns._spacy.cache_clear()
    yield module
    nouns._spacy.cache_clear()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Red Lamp, red lamp", ("red", "lamp", "red", "lamp")),
        ("3-Pack 2XL XL2 100% usb_c", ("pack", "xl2", "usb_c")),  # a word begins with a letter
        ("Men's T-Shirt", ("men", "s", "t", "shirt")),
        ("\u00c9clair \u00fcber \u5bff\u53f8 _x 1\u20442", ("\u00e9clair", "\u00fcber", "\u5bff\u53f8")),
        ("", ()),
        ("16\" (40) - 2 & 3", ()),
    ],
)  # fmt: skip
def test_the_stub_tagger_takes_every_word_that_begins_with_a_letter_as_a_noun(
    text: str, expected: tuple[str, ...]
) -> None:
    assert stub(text) == tagger("stub")(text) == expected


def test_spacys_nouns_and_proper_nouns_are_taken_in_lower_case(spacy: ModuleType) -> None:
    asked: list[str] = []

    def load(model: str) -> object:
        def parse(text: str) -> list[SimpleNamespace]:
            asked.append(text)
            tags = {"Acme": "PROPN", "Lamp": "NOUN", "red": "ADJ", "shines": "VERB"}
            return [SimpleNamespace(text=word, pos_=tags[word]) for word in text.split()]

        assert model == "en_core_web_sm"
        return parse

    vars(spacy)["load"] = load
    assert tagger("spacy")("Acme red Lamp shines") == ("acme", "lamp")
    assert tagger("spacy")("Acme red Lamp shines") == ("acme", "lamp")
    assert asked == ["Acme red Lamp shines"]  # the model is slow: once a text


def test_the_error_of_a_missing_spacy_model_names_the_command(spacy: ModuleType) -> None:
    def load(model: str) -> object:
        raise OSError(f"[E050] Can't find model {model!r}")

    vars(spacy)["load"] = load
    with pytest.raises(CairnError, match="python -m spacy download en_core_web_sm"):
        tagger("spacy")


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    nouns._spacy.cache_clear()
    with pytest.raises(MissingExtraError, match=r"noun_tagger='spacy'.*pip install 'spacy>="):
        tagger("spacy")
