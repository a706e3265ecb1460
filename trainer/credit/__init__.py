"""Credit assignment: computes one advantage per step from a `StepTable`.

Each method is one file; `advantages` calls a method by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cairn.core.config import Config, build
from cairn.core.errors import CairnError
from cairn.core.plugins import CREDITS
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit

__all__ = ["Credit", "advantage_std", "advantages", "learned"]


def advantages(table: StepTable, method: str, **config: Any) -> Floats:
    """Return one advantage per step, float64 [N], in the caller's row order.

    Untrained steps (`table.trained` False), steps of earlier updates (`table.past`) and steps of unscorable episodes
    get 0.

    Args:
        table: the steps; groups are never mixed, unless the method normalises over the batch.
        method: a registered credit method, such as "grpo", "gigpo" or "closure".
        config: fields of the method's `Config`.

    Raises:
        UnknownNameError: the method is unknown.
        ConfigError: a field is unknown to the method, or a value is invalid.
        CairnError: the method needs a column or a part of the reward that is missing from the table, or would mistake
            earlier updates for this one.
    """
    credit, settings = _load(table, method, config)
    return table.to_caller(np.where(_trained(table), credit.compute(table, settings), 0.0))


def learned(table: StepTable, method: str, **config: Any) -> Flags:
    """Return flags of the steps in the loss and its normaliser, bool [N], in the caller's order.

    The arguments are those of `advantages`. Untrained steps, steps of earlier updates, steps of unscorable episodes and
    steps that the method drops are False.

    Raises:
        CairnError: as `advantages`.
    """
    credit, settings = _load(table, method, config)
    kept = _trained(table) if credit.learned is None else _trained(table) & credit.learned(table, settings)
    return table.to_caller(kept)


def advantage_std(table: StepTable, method: str = "closure", **config: Any) -> Floats:
    """Return the standard deviation of each advantage, float64 [N], in the caller's row order.

    The arguments are those of `advantages`; the method must define `width`.

    Raises:
        CairnError: the method has no widths; or an error of `advantages`.
    """
    credit, settings = _load(table, method, config)
    if credit.width is None:
        known = [name for name in CREDITS.ids() if CREDITS.load(name).width is not None]
        raise CairnError(f"credit {method!r} has no widths; these have: {', '.join(known)}")
    return table.to_caller(credit.width(table, settings))


def _trained(table: StepTable) -> Flags:
    return table.trained if table.past is None else table.trained & ~table.past


def _load(table: StepTable, method: str, config: Mapping[str, Any]) -> tuple[Credit[Any], Config]:  # Any: its Config's
    credit: Credit[Any] = CREDITS.load(method)
    settings = build(credit.config, config, f"credit {method!r}")
    missing = [name for name in credit.needs if not _has(table, name)]
    if missing:
        form = "as names of channels" if missing == ["parts"] else "one value a row"
        raise CairnError(
            f"credit {method!r} needs {', '.join(missing)}, which this StepTable does not have: "
            f"give it to StepTable.from_columns, {form}"
        )
    if unknown := [name for name in credit.parts(settings) if name not in table.parts]:
        raise CairnError(
            f"credit {method!r}: expected parts of the reward, got {unknown}; the table's parts are {list(table.parts)}"
        )
    if table.past is not None and not credit.reads_past:
        knows = [name for name in CREDITS.ids() if CREDITS.load(name).reads_past]
        raise CairnError(f"credit {method!r} compares all rows; leave `past` out, or use one of: {', '.join(knows)}")
    return credit, settings


def _has(table: StepTable, name: str) -> bool:
    found = getattr(table, name)
    return bool(found) if name in ("channels", "parts") else found is not None
