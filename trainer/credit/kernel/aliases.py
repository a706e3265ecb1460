"""The alias audit: finds keys that stand for more than one state, and splits them.

In a deterministic environment, one key and one action with two outcomes prove that the key covers two states. `audit`
counts such keys. `split` separates the states by their history: a key that is proved aliased is mixed with the key of
the preceding step, repeatedly, until no proof is left or `rounds` are done. Other keys stay unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cairn.core.keys import mix_keys
from cairn.core.table import Flags, Keys, StepTable
from cairn.trainer.credit.kernel.segments import segments

_START, _OVER = np.uint64(0x57A7), np.uint64(0x07E6)


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """Rows whose state key covers more than one state."""

    is_aliased: Flags  # [N]
    share: float  # share of the state-action pairs seen twice or more that had different outcomes


def audit(table: StepTable, key: Keys | None = None, next_key: Keys | None = None) -> Audit:
    """Return the rows where equal keys and actions had different next keys, rewards or endings.

    The last step of an episode without a recorded next state proves nothing: its next key is unique.
    """
    key = table.anchor if key is None else key
    next_key = table.next_anchor if next_key is None else next_key
    last = table.is_last
    known = ~last | ~table.truncated | table.knows_next
    head = np.append(key[1:], np.uint64(0))
    head[last] = np.where(table.truncated, next_key, _OVER)[last]
    node = segments(table.group, key)
    pair = segments(node, table.action)
    outcome = segments(pair, mix_keys(head, table.reward.view(np.uint64)))
    first = np.zeros(int(outcome.max()) + 1, np.int64)
    first[outcome[known]] = 1 + pair[known]  # 0: no row of this outcome is known
    kinds = np.bincount(first, minlength=int(pair.max()) + 2)[1:]
    visits = np.bincount(pair[known], minlength=len(kinds))
    is_split = kinds > 1
    aliased = np.zeros(int(node.max()) + 1, np.bool_)
    aliased[node[is_split[pair]]] = True
    return Audit(is_aliased=aliased[node], share=float(is_split.sum() / max((visits > 1).sum(), 1)))


def split(table: StepTable, rounds: int) -> tuple[Keys, Keys]:
    """Return keys of the states before and after each step, split where aliasing is proved."""
    key, next_key = table.anchor, table.next_anchor
    for _ in range(rounds):
        aliased = audit(table, key, next_key).is_aliased
        if not aliased.any():
            break
        before = np.append(_START, key[:-1])
        before[table.turn == 0] = _START
        scoped = mix_keys(table.group.astype(np.uint64), key)
        after_aliased = np.isin(mix_keys(table.group.astype(np.uint64), next_key), scoped[aliased])
        next_key = np.where(after_aliased, mix_keys(next_key, key), next_key)
        key = np.where(aliased, mix_keys(key, before), key)
    return key, next_key
