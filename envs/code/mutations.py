"""Mutation operators: small faults in a program, each an edit of one piece of its text.

An operator is a function that reads one node of the syntax tree and yields edits of the text. The formatting and
comments around an edit stay. This module runs no mutant; tests decide whether a mutant behaves differently.

Not supported: edits within f-strings (Python 3.11 gives no exact positions for their nodes), and edits of more than one
place.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cairn.envs.code.source import Source, Span

Edit = tuple[Span, str]  # the replaced piece, its replacement
Operator = Callable[[Source, ast.AST], Iterator[Edit]]

_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SWAPPED = {
    **{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "!=", "!=": "=="},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in"},
}
_ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "//", "**": "*"}
_SIGNS: dict[type[ast.AST], str] = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and", ast.Or: "or"},
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"},
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: `source[start:end]` becomes `text`."""

    operator: str
    line: int  # from 1, where the replaced piece begins
    start: int  # in characters
    end: int
    text: str


def mutants(source: str) -> tuple[Mutant, ...]:
    """Return every mutant that still parses, in source order, without duplicate edits."""
    read = Source(source)
    found: dict[tuple[int, int, str], Mutant] = {}
    for node in read.nodes():
        for name, operator in OPERATORS.items():
            for (start, end), text in operator(read, node):
                if text != source[start:end] and (start, end, text) not in found:
                    found[start, end, text] = Mutant(name, source.count("\n", 0, start) + 1, start, end, text)
    sound = (mutant for mutant in found.values() if _parses(applied(source, mutant)))
    return tuple(sorted(sound, key=lambda mutant: (mutant.start, mutant.end, mutant.operator, mutant.text)))


def applied(source: str, mutant: Mutant) -> str:
    """Return the text with the fault."""
    return source[: mutant.start] + mutant.text + source[mutant.end :]


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


# -- operators: where several make the same edit, the first one names it ---------------------------------------------


def comparison_boundary(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Change the boundary of a comparison: `<` becomes `<=`, and so on."""
    for span, sign in _comparisons(source, node):
        if sign in _BOUNDARY:
            yield span, _BOUNDARY[sign]


def swapped_comparison(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Reverse a comparison: `<` becomes `>`, `==` becomes `!=`, `in` becomes `not in`."""
    for span, sign in _comparisons(source, node):
        yield span, _SWAPPED[sign]


def swapped_arithmetic(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Replace an arithmetic operator: `+` becomes `-`, `+=` becomes `-=`; skip texts and lists."""
    if isinstance(node, ast.BinOp):
        left, right, suffix = node.left, node.right, ""
    elif isinstance(node, ast.AugAssign):
        left, right, suffix = node.target, node.value, "="
    else:
        return
    sign = _SIGNS.get(type(node.op), "")
    if sign in _ARITHMETIC and not (_is_sequence(left) or _is_sequence(right)):
        for span in source.between(left, right, sign + suffix):
            yield span, _ARITHMETIC[sign] + suffix


def swapped_logic(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Swap `and` and `or`."""
    if isinstance(node, ast.BoolOp):
        sign = _SIGNS[type(node.op)]
        for left, right in itertools.pairwise(node.values):
            for span in source.between(left, right, sign):
                yield span, "or" if sign == "and" else "and"


def dropped_not(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Remove a `not`: `not x` becomes `x`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start, end = source.span(node)
        begin = re.compile(r"not\b\s*").match(source.text, start)
        assert begin is not None  # the node is a `not`
        yield (start, end), source.text[begin.end() : end]


def negated_condition(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Negate a condition other than a comparison or a `not`: `if x` becomes `if not x`."""
    conditions = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
    if not isinstance(node, (ast.If, ast.While, ast.IfExp, ast.comprehension)):
        return
    for condition in conditions:
        if isinstance(condition, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            yield source.span(condition), f"not {source.piece(condition)}"
        elif isinstance(condition, (ast.BoolOp, ast.BinOp)):
            yield source.span(condition), f"not ({source.piece(condition)})"


def changed_default(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Replace the default of an argument by another constant of its type."""
    if isinstance(node, ast.arguments):
        for default in [*node.defaults, *(each for each in node.kw_defaults if each is not None)]:
            if isinstance(default, ast.Constant):
                for text in _other_constants(default.value):
                    yield source.span(default), text


def changed_slice(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Remove a bound of a slice, or move it by one."""
    if isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper):
            if bound is not None:
                yield source.span(bound), ""
            if isinstance(bound, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
                yield source.span(bound), f"{source.piece(bound)} + 1"
                yield source.span(bound), f"{source.piece(bound)} - 1"


def off_by_one(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Change a whole number by one, up or down."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        yield source.span(node), str(node.value + 1)
        if node.value > 0:
            yield source.span(node), str(node.value - 1)


def flipped_constant(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Swap True and False."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.span(node), str(not node.value)


def swapped_arguments(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Swap two neighbouring arguments of a call."""
    if isinstance(node, ast.Call):
        for first, second in itertools.pairwise(node.args):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                (start, middle), (resume, end) = source.span(first), source.span(second)
                yield (start, end), source.piece(second) + source.text[middle:resume] + source.piece(first)


def wrong_return(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Replace the variable of a `return` by another one of the function."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
        for name in _neighbours(node.value.id, source.variables(node)):
            yield source.span(node.value), name


def wrong_name(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Replace a variable by the function's next one in order of appearance."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not source.is_called(node):
        for name in itertools.islice(_neighbours(node.id, source.variables(node)), 1):
            yield source.span(node), name


def wrong_attribute(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Replace an attribute by another one that the module reads from an equal expression."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        end = source.span(node)[1]
        for name in _neighbours(node.attr, source.attributes(node)):
            yield (end - len(node.attr), end), name


def changed_jump(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Swap `break` and `continue`."""
    if isinstance(node, ast.Break):
        yield source.span(node), "continue"
    if isinstance(node, ast.Continue):
        yield source.span(node), "break"


def deleted_statement(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Delete a statement, or an `if` without `else` that guards one or two statements."""
    is_guard = isinstance(node, ast.If) and not node.orelse and len(node.body) <= 2
    is_simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete, ast.Raise, ast.Return))
    if (is_guard or is_simple) and source.function(node) is not None and not source.stands_alone(node):
        span = source.lines_of(node)
        if span is not None and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield span, ""


OPERATORS: dict[str, Operator] = {
    operator.__name__.replace("_", "-"): operator
    for operator in (
        comparison_boundary,
        swapped_comparison,
        swapped_arithmetic,
        swapped_logic,
        dropped_not,
        negated_condition,
        changed_default,
        changed_slice,
        off_by_one,
        flipped_constant,
        swapped_arguments,
        wrong_return,
        wrong_name,
        wrong_attribute,
        changed_jump,
        deleted_statement,
    )
}


def _comparisons(source: Source, node: ast.AST) -> Iterator[tuple[Span, str]]:
    """Yield the position and the sign of each comparison."""
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for (left, right), kind in zip(itertools.pairwise(operands), node.ops, strict=True):
            sign = _SIGNS[type(kind)]
            for span in source.between(left, right, sign):
                yield span, sign


def _is_sequence(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    return is_text or isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


def _other_constants(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
    elif isinstance(value, float):
        yield repr(value * 2 + 1)
    elif isinstance(value, str):
        yield '" "' if value != " " else '""'


def _neighbours(name: str, names: list[str]) -> Iterator[str]:
    """Yield the names after and before a name in a list."""
    if name in names and len(names) > 1:
        place = names.index(name)
        yield names[(place + 1) % len(names)]
        yield names[place - 1]
