"""Sums up groups of values."""

from tables.errors import QueryError


def summed(kind, values):
    """Return one value for all that are not None."""
    known = [item for item in values if item is not None]
    if kind == "count":
        return len(known)
    if kind == "sum":
        return sum(known)
    if kind not in ("mean", "least", "most"):
        raise QueryError(f"unknown kind of sum: {kind}")
    if not known:
        return None
    if kind == "mean":
        return sum(known) / len(known)
    return min(known) if kind == "least" else max(known)


def grouped(keys, rows):
    """Map each key to its rows, in the order of first appearance."""
    groups = {}
    for key, row in zip(keys, rows, strict=True):
        groups.setdefault(key, []).append(row)
    return groups
