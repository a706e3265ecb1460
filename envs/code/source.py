"""A program's text with its syntax tree: the position and the surroundings of each node.

Positions are in characters. Nodes within f-strings are left out: Python 3.11 gives no exact positions for them.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
from collections.abc import Iterator

Span = tuple[int, int]  # start and end in the text, end exclusive
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)


class Source:
    """The text and the syntax tree of one module.

    Raises:
        SyntaxError: the text is not a valid module.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = list(io.StringIO(text, newline=""))  # split as the parser does, with line ends
        self._starts = [0, *itertools.accumulate(map(len, self._lines))]
        self._parents = {child: node for node in self.nodes() for child in ast.iter_child_nodes(node)}
        self._attributes: dict[tuple[str, bool], dict[str, None]] = {}  # (owner, is called) -> names as they appear
        for node in self.nodes():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                names = self._attributes.setdefault((ast.dump(node.value), self.is_called(node)), {})
                names[node.attr] = None

    def nodes(self) -> Iterator[ast.AST]:
        """Yield every node outside f-strings, parents before children."""
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            yield node
            if not isinstance(node, ast.JoinedStr):
                stack.extend(reversed(list(ast.iter_child_nodes(node))))

    def span(self, node: ast.AST) -> Span:
        """Return the position of an expression or a statement."""
        assert isinstance(node, (ast.expr, ast.stmt)), f"{type(node).__name__} has no place"
        assert node.end_lineno is not None  # ast.parse sets both
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def piece(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def between(self, left: ast.AST, right: ast.AST, sign: str) -> Iterator[Span]:
        """Yield the position of a sign between two nodes; nothing if a comment makes it uncertain."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.text[start:end]
        if "#" not in gap:
            pattern = r"\s+".join(map(re.escape, sign.split()))
            for found in itertools.islice(re.finditer(pattern, gap), 1):
                yield start + found.start(), start + found.end()

    def lines_of(self, statement: ast.AST) -> Span | None:
        """Return the span of a statement's lines; None if they hold other code."""
        start, end = self.span(statement)
        begin = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", end)
        finish = len(self.text) if line_end < 0 else line_end + 1
        rest = self.text[end:finish].strip()
        is_whole = not self.text[begin:start].strip() and (not rest or rest.startswith("#"))
        return (begin, finish) if is_whole else None

    def stands_alone(self, statement: ast.AST) -> bool:
        """Return whether a statement is the only one of its block, not counting a docstring."""
        parent = self._parents.get(statement)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and statement in block:
                return sum(1 for each in block if not _is_docstring(each)) == 1
        return True

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the function that contains a node."""
        above = self._parents.get(node)
        while above is not None and not isinstance(above, _FUNCTIONS):
            above = self._parents.get(above)
        return above

    def variables(self, node: ast.AST) -> list[str]:
        """List the parameters and variables of a node's function, in order, without `self`."""
        function = self.function(node)
        if function is None:
            return []
        arguments = function.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        for inner in _own_nodes(function):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names.append(inner.id)
        return [name for name in dict.fromkeys(names) if name not in ("self", "cls", "_")]

    def attributes(self, node: ast.Attribute) -> list[str]:
        """List the attributes that the module reads from an equal expression.

        If the node is called, the list has only called attributes, otherwise only attributes that are not called.
        """
        return list(self._attributes[ast.dump(node.value), self.is_called(node)])

    def is_called(self, node: ast.AST) -> bool:
        """Return whether a node is the function of a call."""
        parent = self._parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def _place(self, line: int, column: int) -> int:
        """Return the position in characters of a node's line and column, which is in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield a function's nodes in source order, without inner scopes and comprehensions."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (*_SCOPES, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield child
            yield from _own_nodes(child)


def _is_docstring(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
