"""Checks of the columns of a step table: types, lengths and consistency between rows.

Each error names the first wrong row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cairn.core.errors import CairnError
from cairn.core.keys import text_key

Ids = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def given(**columns: npt.ArrayLike | None) -> list[tuple[str, npt.ArrayLike]]:
    """Return the names and values of the columns that are not None."""
    return [(name, column) for name, column in columns.items() if column is not None]


def integers(name: str, values: npt.ArrayLike) -> Keys:
    """Return one column as exact integers; negative values as two's complement.

    A list is converted through Python's integers, because NumPy makes a float64 array of a list that holds keys below
    and above 2**63.
    """
    _check_masked(name, values)
    array = (np.array(values, object) if isinstance(values, (list, tuple)) else np.asarray(values)).reshape(-1)
    if array.dtype.kind in "iub":
        return array.astype(np.uint64)
    for row, value in enumerate(array):
        is_float = isinstance(value, (float, np.floating))
        is_whole = float(value).is_integer() if is_float else isinstance(value, (int, np.integer))
        if not is_whole or not -(1 << 63) <= int(value) < 1 << 64:
            raise CairnError(f"StepTable: {name} must be an integer of 64 bits, got {value!r} in row {row}")
    return np.array([int(value) % (1 << 64) for value in array], np.uint64)


def keys(name: str, values: npt.ArrayLike) -> Keys:
    """Return one column of keys: integers unchanged, texts as their 64-bit keys."""
    texts = _texts(name, values)
    return integers(name, values) if texts is None else np.array([text_key(text) for text in texts], np.uint64)


def ids(name: str, values: npt.ArrayLike) -> tuple[Ids, list[str] | None]:
    """Return one column of ids and, for texts, the texts by number.

    Texts are numbered in alphabetical order. For integers the second value is None.
    """
    texts = _texts(name, values)
    if texts is None:
        return integers(name, values).astype(np.int64), None
    known = sorted(set(texts))
    number = {text: place for place, text in enumerate(known)}
    return np.array([number[text] for text in texts], np.int64), known


def _texts(name: str, values: npt.ArrayLike) -> list[str] | None:
    """Return a column of texts, or None if it has no text."""
    _check_masked(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return None
    array = np.asarray(values, object).reshape(-1)
    is_text = [isinstance(value, str) for value in array]
    if not any(is_text):
        return None
    if not all(is_text):
        row = is_text.index(False)
        raise CairnError(f"StepTable: {name} must be all texts or all integers, got {array[row]!r} in row {row}")
    return [str(text) for text in array]


def flags(name: str, values: npt.ArrayLike) -> Flags:
    """Return one column of booleans; the numbers 0 and 1 are accepted."""
    _check_masked(name, values)
    array = _as_array(values)
    if array.dtype.kind in "biuf":
        is_flag = (array == 0) | (array == 1)
    else:
        is_flag = np.array([isinstance(x, (bool, np.bool_, int, float)) and x in (0, 1) for x in array], np.bool_)
    if len(wrong := np.flatnonzero(~is_flag)):
        raise CairnError(f"StepTable: {name} must be True or False, got {array[wrong[0]]!r} in row {wrong[0]}")
    return array.astype(np.bool_)


def _as_array(values: npt.ArrayLike) -> npt.NDArray[Any]:  # Any: numbers, or objects
    """Return a flat array of numbers or booleans, or of the objects as they are."""
    try:
        array = np.asarray(values)
    except ValueError:  # a list within the list
        array = np.asarray(values, object)
    return (array if array.dtype.kind in "biuf" else np.asarray(values, object)).reshape(-1)


def floats(name: str, values: npt.ArrayLike) -> Floats:
    """Return one column of numbers; masked values become NaN."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), np.nan, values.data)
    try:
        return np.asarray(values, np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        for row, value in enumerate(np.asarray(values, object).reshape(-1)):
            if not isinstance(value, (float, int, np.floating, np.integer, np.bool_)):
                raise CairnError(f"StepTable: {name} must be a number, got {value!r} in row {row}") from None
        raise CairnError(f"StepTable: {name} must be one number a row: {error}") from None


def _check_masked(name: str, values: npt.ArrayLike) -> None:
    if isinstance(values, np.ma.MaskedArray) and (masked := np.ma.getmaskarray(values).reshape(-1)).any():
        row = int(np.flatnonzero(masked)[0])
        raise CairnError(f"StepTable: {name} has no value in row {row}: it is masked")


def check_lengths(columns: Mapping[str, npt.NDArray[Any]]) -> None:  # Any: of several types
    """Check that all columns have the same length and at least one row."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) != 1:
        raise CairnError(f"StepTable: every column needs one value a row, got lengths {sizes}")
    if not sizes["group"]:
        raise CairnError("StepTable: expected at least one episode, got no rows")


def scorable(columns: Mapping[str, npt.NDArray[Any]], allow: bool) -> tuple[Flags, int]:  # Any: of several types
    """Return which rows are kept, and the number of episodes left out because a reward is NaN."""
    missing = np.isnan(columns["reward"])
    if not allow or not missing.any():
        return np.ones(len(missing), np.bool_), 0
    unscorable = np.unique(columns["episode"][missing])
    return ~np.isin(columns["episode"], unscorable), len(unscorable)


def check_finite(columns: Mapping[str, Floats], kept: Flags) -> None:
    """Check that the kept rows have finite numbers."""
    for name, column in columns.items():
        wrong = np.flatnonzero(kept & ~np.isfinite(column))
        if len(wrong):
            hint = "; to leave unscorable episodes out, pass allow_unscorable=True" if name == "reward" else ""
            raise CairnError(f"StepTable: {name} must be finite, got {float(column[wrong[0]])} in row {wrong[0]}{hint}")


def check_episodes(
    columns: Mapping[str, npt.NDArray[Any]], order: Ids, texts: Mapping[str, list[str] | None]
) -> None:  # Any: of several types
    """Check the rows of the episodes.

    Args:
        columns: the columns, in the caller's row order.
        order: sorts the rows by (group, episode, turn).
        texts: by column, the original text of each numeric id; None if the ids were integers.
    """

    def shown(name: str, number: int) -> str:
        named = texts.get(name)
        return str(number) if named is None else repr(named[number])

    group, episode, turn = (columns[name][order] for name in ("group", "episode", "turn"))
    if not len(order):
        raise CairnError("StepTable: expected at least one episode that could be scored, got none")
    pairs = np.unique(np.stack([episode, group]), axis=1)
    split = np.flatnonzero(pairs[0, 1:] == pairs[0, :-1])
    if len(split):
        raise CairnError(
            f"StepTable: episode {shown('episode', pairs[0, split[0]])} has rows in groups "
            f"{shown('group', pairs[1, split[0]])} and {shown('group', pairs[1, split[0] + 1])}"
        )
    is_same = episode[1:] == episode[:-1]
    expected = np.append(0, np.where(is_same, turn[:-1] + 1, 0))
    if len(wrong := np.flatnonzero(turn != expected)):
        row = int(wrong[0])
        what = "twice there" if turn[row] == expected[row] - 1 else "not the next one"
        raise CairnError(
            f"StepTable: turn {turn[row]} of episode {shown('episode', episode[row])} is {what} (row {order[row]}); "
            f"expected turn {expected[row]}"
        )
    for name in ("success", "truncated", "past"):
        if name in columns:
            values = columns[name][order]
            if len(wrong := np.flatnonzero(is_same & (values[1:] != values[:-1]))):
                raise CairnError(
                    f"StepTable: {name} is a fact of the episode; episode {shown('episode', episode[wrong[0]])} has "
                    f"both True and False (row {order[wrong[0] + 1]})"
                )
    if "node" in columns:
        _check_tree(columns["node"][order], group, turn, order)
    if "next_anchor" in columns:
        anchor, following = columns["anchor"][order], columns["next_anchor"][order]
        if len(wrong := np.flatnonzero(is_same & (following[:-1] != anchor[1:]))):
            row = int(wrong[0])
            raise CairnError(
                f"StepTable: next_anchor must be the anchor of the episode's next turn, {anchor[row + 1]}, "
                f"got {following[row]} in row {order[row]}"
            )


def _check_tree(node: Keys, group: Ids, turn: Ids, order: Ids) -> None:
    """Check that equal nodes of a group have the same turn and the same parent node."""
    before = np.where(turn == 0, np.uint64(0), np.append(np.uint64(0), node[:-1]))
    by_node = np.lexsort((turn, node, group))
    g, n, t, b = group[by_node], node[by_node], turn[by_node], before[by_node]
    differs = (g[1:] == g[:-1]) & (n[1:] == n[:-1]) & ((t[1:] != t[:-1]) | (b[1:] != b[:-1]))
    if len(wrong := np.flatnonzero(differs)):
        rows = order[by_node[wrong[0]]], order[by_node[wrong[0] + 1]]
        raise CairnError(
            f"StepTable: a tree's node has one turn and one parent node; {n[wrong[0]]} does not "
            f"(rows {rows[0]} and {rows[1]})"
        )
