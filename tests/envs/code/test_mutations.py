"""Replacements of each operator, by hand; and properties of every mutant of every project."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.envs.code.mutations import OPERATORS, Mutant, applied, mutants
from cairn.envs.code.repair import projects, sources

# operator, source, replacements of that operator as (old, new)
CASES = [
    ("comparison-boundary", "a < b", [("<", "<=")]),
    ("comparison-boundary", "0 <= a > b", [("<=", "<"), (">", ">=")]),
    ("comparison-boundary", "a == b", []),
    ("swapped-comparison", "a<b", [("<", ">")]),
    ("swapped-comparison", "a == b", [("==", "!=")]),
    ("swapped-comparison", "a not  in b", [("not  in", "in")]),
    ("swapped-comparison", "a is not b", [("is not", "is")]),
    ("swapped-comparison", "(a) in (b)", [("in", "not in")]),
    ("swapped-arithmetic", "a - -b", [("-", "+")]),
    ("swapped-arithmetic", "a // b", [("//", "/")]),
    ("swapped-arithmetic", "a ** b", [("**", "*")]),
    ("swapped-arithmetic", "a += b", [("+=", "-=")]),
    ("swapped-arithmetic", "a + 'x'", []),
    ("swapped-logic", "a and b or c", [("and", "or"), ("or", "and")]),
    ("dropped-not", "not(a or b)", [("not(a or b)", "(a or b)")]),
    ("negated-condition", "a if f(b) else c", [("f(b)", "not f(b)")]),
    ("negated-condition", "while a and b: pass", [("a and b", "not (a and b)")]),
    ("negated-condition", "[a for a in b if c]", [("c", "not c")]),
    ("negated-condition", "if not a: pass", []),
    ("changed-default", "def f(a=3, *, b=True, c='x'): pass", [("3", "4"), ("True", "False"), ("'x'", '" "')]),
    ("changed-slice", "a[1:]", [("1", "")]),
    ("changed-slice", "a[:b]", [("b", ""), ("b", "b + 1"), ("b", "b - 1")]),
    ("off-by-one", "a = 7", [("7", "6"), ("7", "8")]),
    ("off-by-one", "a = 0", [("0", "1")]),
    ("off-by-one", "a = True", []),
    ("flipped-constant", "a = True", [("True", "False")]),
    ("swapped-arguments", "f(a,  b+c, k=d)", [("a,  b+c", "b+c,  a")]),
    ("swapped-arguments", "f(a, *b)", []),
    ("wrong-return", "def f(a, b):\n    return a", [("a", "b")]),
    ("wrong-name", "def f(a, b, c):\n    return g(b)", [("b", "c")]),
    ("wrong-name", "def f(a):\n    return g(a)", []),
    ("wrong-attribute", "a.x + a.y + a.z() + b.u", [("x", "y"), ("y", "x")]),
    ("changed-jump", "for a in b: break", [("break", "continue")]),
    ("changed-jump", "for a in b: continue", [("continue", "break")]),
    ("deleted-statement", "def f():\n    g()  # why\n    h()\n", [("    g()  # why\n", ""), ("    h()\n", "")]),
    ("deleted-statement", "def f():\n  if a:\n    b()\n  c()", [("  if a:\n    b()\n", ""), ("  c()", "")]),
    ("deleted-statement", "def f():\n    '''Doc.'''\n    g()", []),
    ("deleted-statement", "def f():\n    if a:\n        g()\n    else:\n        h()", []),
    ("deleted-statement", "a = 1\nb = 2", []),
]  # fmt: skip


def replaced(source: str, operator: str) -> list[tuple[str, str]]:
    return [(source[each.start : each.end], each.text) for each in mutants(source) if each.operator == operator]


@pytest.mark.parametrize(("operator", "source", "expected"), CASES)
def test_an_operator_replaces(operator: str, source: str, expected: list[tuple[str, str]]) -> None:
    assert replaced(source, operator) == expected


def test_every_operator_is_shown() -> None:
    assert {operator for operator, _, expected in CASES if expected} == set(OPERATORS)


def test_everything_else_stays_as_it_is() -> None:
    source = 'def f( a,b ):  # ä "ö"\n  return (a   <b)   # ü\n'
    (mutant,) = [each for each in mutants(source) if each.operator == "comparison-boundary"]
    assert mutant == Mutant("comparison-boundary", 2, source.index("<"), source.index("<") + 1, "<=")
    assert applied(source, mutant) == 'def f( a,b ):  # ä "ö"\n  return (a   <=b)   # ü\n'


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_are_character_offsets_for_all_line_ends_and_wide_characters(end: str) -> None:
    source = end.join(["x = 'äß🙂'; y = a < b", "z = '🙂' + f(c)", "w = 'é', d > e"])
    boundaries = [each for each in mutants(source) if each.operator == "comparison-boundary"]
    assert [source[each.start : each.end] for each in boundaries] == ["<", ">"]


def test_texts_that_are_put_together_are_left_alone() -> None:
    assert mutants("a = f'{b < 3} {c + 1:>{d - 2}}'") == ()


def test_mutants_are_in_source_order_without_duplicates() -> None:
    found = mutants("def f(a, b):\n    if a < 1 and b:\n        return a\n    return a - b\n")
    places = [(each.start, each.end) for each in found]
    assert places == sorted(places)
    assert len({(each.start, each.end, each.text) for each in found}) == len(found) > 10


def test_mutants_that_do_not_parse_are_left_out() -> None:
    """Deleting the bound of `b` would do; deleting the only statement of a block would not, nor `not` from `not in`."""
    for source in ("def f():\n    return 1\n", "while a:\n    break\n", "a = b[c:]\n"):
        for mutant in mutants(source):
            ast.parse(applied(source, mutant))
    assert replaced("def f():\n    return 1\n", "deleted-statement") == []


@pytest.mark.parametrize("name", projects())
def test_a_mutant_of_a_project_is_another_program(name: str) -> None:
    files = sorted(sources(name).items(), key=lambda pair: len(pair[1]))
    path, text = files[len(files) // 2]
    tree = ast.dump(ast.parse(text))
    for mutant in mutants(text)[::7]:
        after = applied(text, mutant)
        assert after[: mutant.start] == text[: mutant.start], path
        assert after[len(after) - len(text) + mutant.end :] == text[mutant.end :]
        assert text.count("\n", 0, mutant.start) + 1 == mutant.line
        assert ast.dump(ast.parse(after)) != tree, f"{path}:{mutant.line} {mutant.operator} changes nothing"


@given(st.lists(st.sampled_from(["a", "b < 2", "not c", "d[1:e]", "'ü'", "f(g, 3)", "h.i"]), min_size=1, max_size=6))
def test_mutants_of_an_expression_differ_in_one_piece(parts: list[str]) -> None:
    source = "x = (" + ",\n  ".join(parts) + ",)"
    for mutant in mutants(source):
        piece = source[mutant.start : mutant.end]
        assert piece != mutant.text
        assert any(piece in part for part in parts)
