"""What textpage should do: the tests that everybody sees."""

from textpage.blocks import blocks
from textpage.inline import plain
from textpage.page import render
from textpage.wrapping import wrap


def test_words_are_wrapped():
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]


def test_paragraphs_are_separated_by_empty_lines():
    assert render("one\ntwo\n\nthree") == "one two\n\nthree"


def test_headings_are_underlined():
    assert render("# Tea") == "TEA\n==="
    assert render("## Milk") == "Milk\n----"


def test_items_hang():
    assert render("- a rather long item", 12) == "- a rather\n  long item"


def test_numbered_items_count_up():
    assert render("1. milk\n1. eggs\n1. salt") == "1. milk\n2. eggs\n3. salt"


def test_code_stays_as_it_is():
    assert render("```\nx  =  1\n```") == "    x  =  1"


def test_links_are_numbered():
    assert plain("see [this](a.org) and *that*", []) == "see this [1] and THAT"
    assert render("[this](a.org)") == "this [1]\n\n[1] a.org"


def test_kinds_of_blocks():
    assert blocks("# A\ntext\n\n- x\n> q") == [("heading", 1, "A"), ("paragraph", "text"), ("item", 0, "-", "x > q")]
