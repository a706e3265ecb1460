"""What the calculator should do: the tests that judge a repair."""

from calc.errors import CalcError, MathError, NameFault, SyntaxFault
from calc.parser import parse
from calc.session import Session
from calc.tokens import number, tokenize


def value(text):
    return Session().run(text)


def fault_at(text):
    try:
        value(text)
    except SyntaxFault as fault:
        return fault.position
    return None


def is_math_error(text):
    try:
        value(text)
    except MathError:
        return True
    return False


def test_powers_group_from_the_right():
    assert value("2 ^ 3 ^ 2") == 512
    assert value("2 * 3 ^ 2") == 18


def test_signs_are_weaker_than_powers():
    assert value("-3^2") == -9
    assert value("2^-2") == 0.25
    assert value("--5") == 5
    assert value("+7 - -2") == 9
    assert value("-2 * -3") == 6


def test_divisions_are_pythons():
    assert value("7 // 2") == 3
    assert value("-7 // 2") == -4
    assert value("7 % 4") == 3
    assert value("7 / 2") == 3.5
    assert value("100 / 10 / 5") == 2.0
    assert value("17 % 10 * 2") == 14


def test_numbers_have_many_forms():
    assert [number(text) for text in ("12", "3.5", ".5", "2e3", "1.5e-2", "4.")] == [12, 3.5, 0.5, 2000.0, 0.015, 4.0]
    assert value("1.5e-2 * 100") == 1.5
    assert repr(value("2 * 3")) == "6"
    assert repr(value("2 * 3.0")) == "6.0"
    assert repr(value("2e1")) == "20.0"


def test_tokens_of_every_kind():
    assert tokenize(" a_1//.5 ,=") == [
        ("name", "a_1", 1),
        ("op", "//", 4),
        ("number", ".5", 6),
        ("op", ",", 9),
        ("op", "=", 10),
    ]
    assert tokenize("9 ^(") == [("number", "9", 0), ("op", "^", 2), ("op", "(", 3)]
    assert tokenize("   ") == []


def test_trees_of_calls_signs_and_assignments():
    assert parse("min(1, -x)") == ("call", "min", [("number", 1), ("unary", "-", ("name", "x"))])
    assert parse("k = +2.5") == ("set", "k", ("unary", "+", ("number", 2.5)))
    assert parse("1 - 2 - 3") == (
        "binary",
        "-",
        ("binary", "-", ("number", 1), ("number", 2)),
        ("number", 3),
    )


def test_the_last_value_is_kept():
    session = Session()
    assert session.run("ans") == 0
    session.run("40 + 2")
    assert session.run("ans / 2") == 21.0
    session.run("k = 5")
    assert session.run("ans") == 5


def test_errors_leave_everything_as_it_was():
    session = Session()
    session.run("k = 5")
    for text in ("k = 1 / 0", "k = nothing", "k = 2 +", "9 9"):
        try:
            session.run(text)
        except CalcError:
            pass
        else:
            raise AssertionError(text)
    assert session.run("ans") == 5
    assert session.run("k") == 5
    assert session.names() == ["k"]


def test_some_names_cannot_be_set():
    session = Session()
    for name in ("ans", "tau", "half", "max", "clamp"):
        try:
            session.run(name + " = 3")
        except NameFault as fault:
            assert fault.name == name
        else:
            raise AssertionError(name)
    assert session.names() == []


def test_unknown_names_are_told():
    for text, name in (("1 + zeta", "zeta"), ("tan(1)", "tan"), ("min", "min")):
        try:
            value(text)
        except NameFault as fault:
            assert fault.name == name
        else:
            raise AssertionError(text)


def test_names_are_in_alphabetical_order():
    session = Session()
    for line in ("pear = 1", "fig = 2", "apple = pear + fig", "fig = 3"):
        session.run(line)
    assert session.names() == ["apple", "fig", "pear"]
    assert session.run("apple + fig") == 6


def test_constants_and_functions():
    assert value("tau * half") == 3.125
    assert value("avg(1, 2, 6)") == 3.0
    assert value("min(4, 2 + 1)") == 3
    assert value("max(7)") == 7
    assert value("clamp(12, 1, 10)") == 10
    assert value("clamp(-4, 1, 10)") == 1
    assert value("clamp(5, 1, 10)") == 5
    assert value("clamp(5, 3, 3)") == 3
    assert value("sqrt(0)") == 0.0


def test_operations_without_a_result():
    for text in ("5 / 0", "5 // (2 - 2)", "5 % 0.0", "0 ^ -1", "sqrt(-1)", "clamp(1, 3, 2)", "(-4) ^ half"):
        assert is_math_error(text)
    assert value("0 ^ 2") == 0
    assert value("(-4) ^ 3.0") == -64.0
    assert value("0 / 5") == 0.0
    assert value("0 * 0") == 0


def test_functions_count_their_arguments():
    for text in ("abs(1, 2)", "sqrt(1, 4)", "clamp(1, 2)", "clamp(1, 2, 3, 4)"):
        assert is_math_error(text)


def test_positions_of_syntax_faults():
    assert fault_at("") == 0
    assert fault_at("  ") == 2
    assert fault_at("2 +") == 3
    assert fault_at("2 ? 3") == 2
    assert fault_at("2 3") == 2
    assert fault_at("(1 + 2") == 6
    assert fault_at("1 + * 2") == 4
    assert fault_at("min(1 2)") == 6
    assert fault_at("min()") == 4
    assert fault_at("x = = 2") == 4
    assert fault_at("1 + 2)") == 5
    assert fault_at("2 = 3") == 2
    assert fault_at("1 + 1") is None
