"""State keys: definitions of equal steps, each as one 64-bit key per row.

The caller scopes keys to the row's group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.keys import mix_keys
from cairn.core.table import Flags, Keys, StepTable
from cairn.trainer.credit.kernel.returns import rows_by_turn

_BEFORE = np.uint64(0xB37E)  # placeholder for the history before an episode's first step
_UNKNOWN = np.uint64(0x0F07)  # scope of states without a known key


def anchor(table: StepTable) -> Keys:
    """The state before the action."""
    return table.anchor


def prompt(table: StepTable) -> Keys:
    """One key for all steps of a group."""
    return np.zeros(len(table), np.uint64)


def turn(table: StepTable) -> Keys:
    """The turn number."""
    return table.turn.astype(np.uint64)


def role(table: StepTable) -> Keys:
    """The agent that acted; one key for all if the table has no roles."""
    return prompt(table) if table.role is None else table.role


def edge(table: StepTable) -> Keys:
    """State, action and next state."""
    return mix_keys(table.anchor, table.action, table.next_anchor)


def observations(table: StepTable, depth: int) -> Keys:
    """The last `depth` states, including the current one.

    A step with a shorter history never equals a step with a longer one.
    """
    return _window(table, table.anchor, depth, offset=0)


def history(table: StepTable, depth: int) -> Keys:
    """The last `depth` pairs of an action and its next state, before this step.

    Near the root there are fewer.
    """
    return _window(table, mix_keys(table.action, table.next_anchor), depth, offset=1)


def history_edge(table: StepTable, depth: int) -> Keys:
    """The history before the step, its action, and the history after it: SALT's edge."""
    pair = mix_keys(table.action, table.next_anchor)
    return mix_keys(history(table, depth), pair, _window(table, pair, depth, offset=0))


def tree_node(table: StepTable) -> Keys:
    """The node of the rollout tree after the step.

    The table's `node` column if present; otherwise steps share a node if all states and actions since the root are
    equal.
    """
    return table.node if table.node is not None else _prefix(table)


def tree_parent(table: StepTable) -> Keys:
    """The node before the step; each group has one root."""
    out = np.append(_BEFORE, tree_node(table)[:-1])
    out[table.turn == 0] = _BEFORE
    return out


def tree_depth(table: StepTable) -> Keys:
    """The distance of the node from the root, in steps."""
    return turn(table) + np.uint64(1)


NAMED: dict[str, Callable[[StepTable], Keys]] = {
    "anchor": anchor, "prompt": prompt, "turn": turn, "role": role, "edge": edge,
    "tree_node": tree_node, "tree_parent": tree_parent, "tree_depth": tree_depth,
}  # fmt: skip


def unknown(table: StepTable) -> Keys:
    """A unique key for each step: a state that no other step visits."""
    return mix_keys(_UNKNOWN, np.arange(len(table), dtype=np.uint64))


def named(table: StepTable, name: str) -> Keys:
    """Return the keys of a key name such as "anchor", "observations(2)" or "history(3)".

    Raises:
        CairnError: the name is unknown.
    """
    head, _, rest = name.partition("(")
    if not rest and head in NAMED:
        return NAMED[head](table)
    if rest.endswith(")") and rest[:-1].isdecimal() and head in ("observations", "history"):
        return (observations if head == "observations" else history)(table, int(rest[:-1]))
    raise CairnError(f"Unknown state key {name!r}; expected {', '.join(NAMED)}, observations(k) or history(h)")


def _window(table: StepTable, key: Keys, depth: int, offset: int) -> Keys:
    """Return keys of the `depth` values of `key` up to turn t - offset.

    `_BEFORE` replaces turns before 0.
    """
    out = np.zeros(len(table), np.uint64)
    for back in range(offset, offset + depth):
        shifted, inside = _shifted(table, key, back)
        out = mix_keys(out, np.where(inside, shifted, _BEFORE))
    return out


def _shifted(table: StepTable, key: Keys, back: int) -> tuple[Keys, Flags]:
    rows = np.arange(len(table)) - back
    return key[np.maximum(rows, 0)], table.turn >= back


def _prefix(table: StepTable) -> Keys:
    """Return keys of the whole history since the root, with one vector operation per turn index."""
    step = mix_keys(table.anchor, table.action)
    out = mix_keys(_BEFORE, step)
    for rows in rows_by_turn(table.turn)[1:]:
        out[rows] = mix_keys(out[rows - 1], step[rows])
    return out
