"""Builds the tree of an expression, as nested tuples."""

from calc.errors import SyntaxFault
from calc.tokens import number, tokenize

_LEVELS = (("+", "-"), ("*", "/", "//", "%"))  # binary operators that group from the left, the weakest first


def parse(text):
    """Return the tree of a line."""
    return _Parser(text).line()


class _Parser:
    """Reads tokens from the left, one ahead."""

    def __init__(self, text):
        self._tokens = tokenize(text)
        self._next = 0
        self._end = len(text)

    def line(self):
        """Read `NAME = expression` or an expression, to the end."""
        if len(self._tokens) > 1 and self._tokens[0][0] == "name" and self._tokens[1][1] == "=":
            name = self._tokens[0][1]
            self._next = 2
            tree = ("set", name, self._binary(0))
        else:
            tree = self._binary(0)
        if self._next < len(self._tokens):
            raise SyntaxFault(self._position())
        return tree

    def _binary(self, level):
        if level == len(_LEVELS):
            return self._unary()
        tree = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            operator = self._take()
            tree = ("binary", operator, tree, self._binary(level + 1))
        return tree

    def _unary(self):
        if self._peek() in ("-", "+"):
            operator = self._take()
            return ("unary", operator, self._unary())
        return self._power()

    def _power(self):
        base = self._atom()
        if self._peek() == "^":
            self._take()
            return ("binary", "^", base, self._unary())
        return base

    def _atom(self):
        if self._next == len(self._tokens):
            raise SyntaxFault(self._end)
        kind, text, position = self._tokens[self._next]
        self._next += 1
        if kind == "number":
            return ("number", number(text))
        if kind == "name":
            if self._peek() == "(":
                return ("call", text, self._arguments())
            return ("name", text)
        if text != "(":
            raise SyntaxFault(position)
        tree = self._binary(0)
        self._expect(")")
        return tree

    def _arguments(self):
        self._expect("(")
        arguments = [self._binary(0)]
        while self._peek() == ",":
            self._take()
            arguments.append(self._binary(0))
        self._expect(")")
        return arguments

    def _peek(self):
        return self._tokens[self._next][1] if self._next < len(self._tokens) else None

    def _position(self):
        return self._tokens[self._next][2] if self._next < len(self._tokens) else self._end

    def _take(self):
        self._next += 1
        return self._tokens[self._next - 1][1]

    def _expect(self, text):
        if self._peek() != text:
            raise SyntaxFault(self._position())
        self._next += 1
