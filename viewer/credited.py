"""Advantages of a stored update under any method, beside the advantages used in training.

Methods may compare all groups of an update, so an update is computed as a whole. Above `MOST_STEPS` steps only the
requested group is computed, or the first groups up to this number of steps; pages report this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from cairn.core.errors import CairnError, UnknownNameError
from cairn.core.plugins import CREDITS
from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import CheckedEstimator
from cairn.trainer.stored_credit import StoredStep, steps_of
from cairn.viewer.catalog import dig

TRAINED = "as trained"  # name of the run's own advantages, beside methods
MOST_STEPS = 30_000
USUAL = ("grpo", "gigpo", "hgpo", "graphgpo", "closure")  # compared by default


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUpdate:
    """The scored episodes of an update as a table, with the advantages used in training."""

    table: StepTable
    places: tuple[StoredStep, ...]  # in the table's order
    trained: Floats | None  # in the table's order; None: not stored
    own_method: str  # "": not known
    own_settings: Mapping[str, object]
    is_partial: bool  # only one group or the first groups, because the update is too large
    known: dict[str, Floats] = field(default_factory=dict)  # cached advantages, by method

    def credit(self, method: str) -> Floats:
        """Return the advantages of a method, in the table's order; for `TRAINED`, the stored ones.

        Names come from URLs and from untrusted runs, so only registered methods are loaded, and no dotted path.

        Raises:
            UnknownNameError: no method is registered under this name.
            CairnError: the run does not store enough data for the method.
        """
        if method == TRAINED:
            if self.trained is None:
                raise CairnError("The advantages that this update was trained on are not stored")
            return self.trained
        if method not in self.known:
            if method not in CREDITS.ids():
                raise UnknownNameError("credit method", method[:80], CREDITS.ids(), "cairn plugins --point credit")
            settings = dict(self.own_settings) if method == self.own_method else {}
            self.known[method] = CheckedEstimator(method, settings)(self.table)
        return self.known[method]


def stored_update(store: RunStore, step: int, group: int | None = None, phase: str = "train") -> StoredUpdate:
    """Return the scored episodes of an update.

    If the update is too large: the episodes of `group`, or of the first groups.

    Raises:
        CairnError: no episode is scored, or the turns were deleted.
    """
    found = _scored(read.episodes(store, phase=phase, step=step))
    is_partial = sum(e.turns for e in found) > MOST_STEPS
    if is_partial:
        found = _first_groups(found) if group is None else [e for e in found if e.group_id == group]
    if not found:
        raise CairnError(f"Step {step} of phase {phase!r} has no episodes that could be scored")
    table, places = steps_of(store, found)
    config = store.meta().get("config")
    method = str(dig(config, "credit", "method") or "")
    return StoredUpdate(
        table=table,
        places=tuple(places[i] for i in table.order.tolist()),
        trained=_trained(store, found, method, table),
        own_method=method,
        own_settings=dig(config, "credit", method) or {},
        is_partial=is_partial,
    )


def methods() -> list[str]:
    """Return the names that a form offers."""
    return [TRAINED, *CREDITS.ids()]


def _scored(episodes: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    return [e for e in episodes if e.ending != "failed" and e.turns]


def _first_groups(episodes: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes of the first groups, up to `MOST_STEPS` steps; at least one group."""
    sizes: dict[int, int] = {}
    for episode in episodes:
        sizes[episode.group_id] = sizes.get(episode.group_id, 0) + episode.turns
    upto = dict(zip(sizes, accumulate(sizes.values()), strict=True))
    first = next(iter(sizes))
    return [e for e in episodes if e.group_id == first or upto[e.group_id] <= MOST_STEPS]


def _trained(store: RunStore, episodes: Sequence[EpisodeRow], method: str, table: StepTable) -> Floats | None:
    parts = [read.advantages(store, e.id) for e in episodes]
    values = [part.get(method, next(iter(part.values()), None)) for part in parts]
    known = [v for v, e in zip(values, episodes, strict=True) if v is not None and len(v) == e.turns]
    return np.concatenate(known)[table.order] if len(known) == len(episodes) else None
