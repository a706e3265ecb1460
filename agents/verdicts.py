"""What the honesty gates said of an evaluation's panel: kept in its own store, and in the words beside its numbers.

A verdict is JSON, as `agents.gates.Verdict.to_dict` makes it: one for each part of the panel, in the panel's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn.core.store import RunStore

Verdicts = Sequence[Mapping[str, Any]]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What stands beside the numbers of a part."""

    holds: bool | None  # None: the gates were not run
    reasons: str = ""  # why it does not hold

    def __str__(self) -> str:
        if self.holds is None:
            return "gates not run"
        return "held" if self.holds else f"DOES NOT HOLD: {self.reasons}"


def mark_of(verdicts: Verdicts | None, number: int) -> Mark:
    """Return the mark of the part of this number; None: the gates were not run."""
    if verdicts is None:
        return Mark(holds=None)
    return Mark(holds=bool(verdicts[number]["holds"]), reasons="; ".join(map(str, verdicts[number]["reasons"])))


def keep_verdicts(folder: Path, verdicts: Verdicts) -> None:
    """Note in a kept evaluation what the gates said of its panel.

    Raises:
        CairnError: it cannot be written.
    """
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"gates": list(verdicts)})


def kept_marks(folder: Path) -> list[tuple[str, Mark]]:
    """Return the parts of a kept evaluation's panel, each with its mark.

    Raises:
        CairnError: there is no run store in the folder.
    """
    with RunStore.read(folder) as store:
        meta = store.meta()
    families = [part["family"] for part in meta["panel"]["parts"]]
    return [(family, mark_of(meta.get("gates"), number)) for number, family in enumerate(families)]
