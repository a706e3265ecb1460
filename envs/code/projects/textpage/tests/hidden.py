"""What textpage should do: the tests that judge a repair."""

from textpage.blocks import blocks
from textpage.inline import plain
from textpage.page import render
from textpage.wrapping import hang, wrap


def test_lines_may_be_exactly_as_long_as_the_width():
    assert wrap("abcd efghi jk", 10) == ["abcd efghi", "jk"]
    assert wrap("abcd efghij jk", 10) == ["abcd", "efghij jk"]


def test_long_words_are_cut():
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("x abcdefgh y", 4) == ["x", "abcd", "efgh", "y"]
    assert wrap("abcdef y z", 4) == ["abcd", "ef y", "z"]


def test_nothing_has_no_lines():
    assert wrap("", 10) == []
    assert wrap("   ", 10) == []
    assert render("") == ""
    assert render("\n\n") == ""


def test_hanging_lines():
    assert hang("aa bb cc dd", 8, "1. ", "   ") == ["1. aa bb", "   cc dd"]
    assert hang("aa bb", 8, "> ", "| ") == ["> aa bb"]
    assert hang("aaa bbb ccc", 6, "-> ", "..") == ["-> aaa", "..bbb", "..ccc"]


def test_pages_have_a_least_width():
    try:
        render("x", 9)
    except ValueError:
        assert render("0123456789 a", 10) == "0123456789\na"
    else:
        raise AssertionError("nine are too few")


def test_headings_of_three_levels():
    assert render("### note well", 10) == "* note\nwell"
    assert render("# a very long title", 10) == "A VERY\nLONG TITLE\n=========="
    assert render("## ab abcdefghi", 10) == "ab\nabcdefghi\n---------"
    assert render("#### four") == "#### four"
    assert render("#none") == "#none"


def test_headings_stand_for_themselves():
    assert blocks("some\n## Head\nmore\n### Next") == [
        ("paragraph", "some"),
        ("heading", 2, "Head"),
        ("paragraph", "more"),
        ("heading", 3, "Next"),
    ]


def test_items_have_depths_and_marks():
    assert blocks("- a\n  - b\n   12. c\n    - d") == [
        ("item", 0, "-", "a"),
        ("item", 1, "-", "b"),
        ("item", 1, 12, "c"),
        ("item", 2, "-", "d"),
    ]
    assert render("- a\n  - b b b b b\n- c", 10) == "- a\n  - b b b\n    b b\n- c"


def test_items_go_on_until_a_blank_line():
    text = "3. one\n   two\nthree\n\nfour\nfive"
    assert blocks(text) == [("item", 0, 3, "one two three"), ("paragraph", "four five")]
    assert blocks("- one\n\n  - two") == [("item", 0, "-", "one"), ("item", 1, "-", "two")]


def test_numbers_go_on_over_deeper_items():
    text = "4. a\n  7. x\n  7. y\n9. b\n  7. z\n1. c"
    assert render(text) == "4. a\n  7. x\n  8. y\n5. b\n  7. z\n6. c"


def test_runs_of_numbers_are_interrupted():
    assert render("1. a\n- b\n1. c") == "1. a\n- b\n1. c"
    assert render("2. a\n\nbreak\n\n8. b") == "2. a\n\nbreak\n\n8. b"
    assert render("1. a\n\n1. b") == "1. a\n2. b"
    assert render("  5. a\n- b\n  5. c") == "  5. a\n- b\n  5. c"
    assert render("1. a\n  - b\n1. c") == "1. a\n  - b\n2. c"


def test_long_numbers_push_their_text():
    assert render("9. aaa\n9. bbb ccc", 10) == "9. aaa\n10. bbb\n    ccc"


def test_quotes_are_joined_and_marked():
    assert blocks("> one\n>two\n\n> three") == [("quote", "one two"), ("quote", "three")]
    assert render("> alpha beta\n> gamma", 12) == "| alpha beta\n| gamma"
    assert blocks("say\n> it") == [("paragraph", "say"), ("quote", "it")]
    assert blocks("> it\nsay") == [("quote", "it"), ("paragraph", "say")]


def test_code_is_neither_wrapped_nor_read():
    text = "```\n# a *b* [c](d)  e\n\n- f\n```\n- g"
    assert render(text, 10) == "    # a *b* [c](d)  e\n\n    - f\n\n- g"
    assert blocks("```\na\n") == [("code", ["a", ""])]
    assert blocks("x\n```\n```\ny") == [("paragraph", "x"), ("code", []), ("paragraph", "y")]


def test_stars_make_capitals():
    assert plain("a *big one* here, *b*", []) == "a BIG ONE here, B"
    assert plain("2 * 3", []) == "2 * 3"
    assert plain("** and", []) == "** and"
    assert plain(r"\*not\* \[this](x)", []) == "*not* [this](x)"


def test_equal_targets_have_one_number():
    assert plain("[a](new) [b](old) [c](new)", ["old"]) == "a [2] b [1] c [2]"
    assert plain("[a](x) [b](y) [c](x)", []) == "a [1] b [2] c [1]"


def test_targets_are_listed_at_the_end():
    text = "# To [one](u)\n\n- [two](v)\n\n> [three](u)"
    expected = "TO ONE [1]\n==========\n\n- two [2]\n\n| three [1]\n\n[1] u\n[2] v"
    assert render(text) == expected
    assert render("[x](a-long-target-of-a-link)", 10) == "x [1]\n\n[1] a-long-target-of-a-link"


def test_blocks_are_separated_but_items_are_not():
    assert render("a\n\n- b\n- c\n\nd\n> e") == "a\n\n- b\n- c\n\nd\n\n| e"
