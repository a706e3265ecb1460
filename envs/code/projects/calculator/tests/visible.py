"""What the calculator should do: the tests that everybody sees."""

from calc.errors import MathError, NameFault, SyntaxFault
from calc.parser import parse
from calc.session import Session
from calc.tokens import tokenize


def test_products_come_before_sums():
    assert Session().run("2 + 3 * 4") == 14
    assert Session().run("(2 + 3) * 4") == 20


def test_subtraction_groups_from_the_left():
    assert Session().run("10 - 4 - 3") == 3


def test_variables_are_remembered():
    session = Session()
    assert session.run("width = 6") == 6
    assert session.run("width * 2") == 12
    assert session.names() == ["width"]


def test_functions_take_arguments():
    assert Session().run("max(3, 8, 5)") == 8
    assert Session().run("sqrt(16) + abs(-3)") == 7.0


def test_tokens_have_positions():
    assert tokenize("x+ 10") == [("name", "x", 0), ("op", "+", 1), ("number", "10", 3)]


def test_trees_are_tuples():
    assert parse("1 + x") == ("binary", "+", ("number", 1), ("name", "x"))


def test_errors_are_told_apart():
    session = Session()
    for text, kind in (("1 +", SyntaxFault), ("y", NameFault), ("1 / 0", MathError)):
        try:
            session.run(text)
        except kind:
            pass
        else:
            raise AssertionError(text)
