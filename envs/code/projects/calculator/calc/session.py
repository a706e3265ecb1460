"""Evaluates lines and remembers variables."""

from calc.errors import MathError, NameFault
from calc.functions import CONSTANTS, FUNCTIONS, call
from calc.parser import parse


class Session:
    """Variables, and the last value as `ans`."""

    def __init__(self):
        self._variables = {}
        self._last = 0

    def run(self, text):
        """Evaluate one line and return its value."""
        tree = parse(text)
        if tree[0] == "set":
            name = tree[1]
            if name == "ans" or name in CONSTANTS or name in FUNCTIONS:
                raise NameFault(name)
            value = self._value(tree[2])
            self._variables[name] = value
        else:
            value = self._value(tree)
        self._last = value
        return value

    def names(self):
        """List the variables that were set."""
        return sorted(self._variables)

    def _value(self, tree):
        kind = tree[0]
        if kind == "number":
            return tree[1]
        if kind == "name":
            return self._look_up(tree[1])
        if kind == "call":
            if tree[1] not in FUNCTIONS:
                raise NameFault(tree[1])
            return call(tree[1], [self._value(argument) for argument in tree[2]])
        if kind == "unary":
            value = self._value(tree[2])
            return -value if tree[1] == "-" else value
        return _apply(tree[1], self._value(tree[2]), self._value(tree[3]))

    def _look_up(self, name):
        if name == "ans":
            return self._last
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in self._variables:
            raise NameFault(name)
        return self._variables[name]


def _apply(operator, left, right):
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator == "^":
        if left == 0 and right < 0:
            raise MathError("zero to a negative power")
        if left < 0 and right != int(right):
            raise MathError("a negative number to a fraction")
        return left**right
    if right == 0:
        raise MathError("a division by zero")
    if operator == "/":
        return left / right
    if operator == "//":
        return left // right
    return left % right
