"""Reads conditions and judges rows by them."""

import operator
import re

from tables.errors import QueryError
from tables.reading import value

_TOKEN = re.compile(r'\s*(?:("[^"]*")|(<=|>=|!=|[=<>()])|([^\s"=<>!()]+))')
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_SIGNS = ("=", "!=", "has", *_ORDERS)


def parse(text):
    """Return a condition as a tree of tuples."""
    tokens = _tokens(text)
    tree = _either(tokens)
    if tokens:
        raise QueryError(f"unexpected: {tokens[0]}")
    return tree


def columns(tree):
    """List the columns that a condition asks for."""
    if tree[0] in ("and", "or", "not"):
        return [name for part in tree[1:] for name in columns(part)]
    return [tree[1]]


def is_met(tree, row):
    """Return whether a row, a dictionary, fulfils a condition."""
    kind = tree[0]
    if kind == "or":
        return is_met(tree[1], row) or is_met(tree[2], row)
    if kind == "and":
        return is_met(tree[1], row) and is_met(tree[2], row)
    if kind == "not":
        return not is_met(tree[1], row)
    if kind == "true":
        return bool(row[tree[1]])
    return _compared(kind, row[tree[1]], tree[2])


def _tokens(text):
    tokens = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if not match:
            raise QueryError(f"unreadable from {place} on")
        tokens.append(match.group().strip())
        place = match.end()
    return tokens


def _either(tokens):
    tree = _both(tokens)
    while tokens and tokens[0] == "or":
        tokens.pop(0)
        tree = ("or", tree, _both(tokens))
    return tree


def _both(tokens):
    tree = _single(tokens)
    while tokens and tokens[0] == "and":
        tokens.pop(0)
        tree = ("and", tree, _single(tokens))
    return tree


def _single(tokens):
    token = _take(tokens)
    if token == "not":
        return ("not", _single(tokens))
    if token == "(":
        tree = _either(tokens)
        if _take(tokens) != ")":
            raise QueryError("a parenthesis is not closed")
        return tree
    if token.startswith('"') or token in _SIGNS or token in (")", "and", "or"):
        raise QueryError(f"a column expected, got {token}")
    if tokens and tokens[0] in _SIGNS:
        return (tokens.pop(0), token, _literal(_take(tokens)))
    return ("true", token)


def _take(tokens):
    if not tokens:
        raise QueryError("the condition ends too early")
    return tokens.pop(0)


def _literal(token):
    if token.startswith('"'):
        return token[1:-1]
    if token == "none":
        return None
    meaning = value(token)
    if isinstance(meaning, str):
        raise QueryError(f"a value expected, got {token}")
    return meaning


def _compared(sign, left, right):
    if sign == "=":
        return left == right
    if sign == "!=":
        return left != right
    if sign == "has":
        return isinstance(left, str) and isinstance(right, str) and right.lower() in left.lower()
    if not (isinstance(left, str) and isinstance(right, str)) and not (_is_number(left) and _is_number(right)):
        return False
    return _ORDERS[sign](left, right)


def _is_number(item):
    return isinstance(item, (int, float)) and not isinstance(item, bool)
