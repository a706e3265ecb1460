"""Credit assignment: one advantage a step, from a `StepTable`. One file a method; `advantages` calls any of them."""

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
    """Return one advantage a step, float64 [N], in the row order in which the caller gave the table.

    Steps that are not trained on (`table.trained` False), those of earlier updates (`table.past`) and those of
    unscorable episodes get 0.

    Args:
        table: the steps; groups are never mixed, unless the method says that it normalises over the batch.
        method: a registered credit method, such as "grpo", "gigpo" or "closure".
        config: fields of the method's `Config`.

    Raises:
        UnknownNameError: no such method.
        ConfigError: a field that the method does not have, or a value that it does not take.
        CairnError: the method needs a column or a part of the reward that the table does not have, or would take
            earlier updates for this one.
    """
    credit, settings = _load(table, method, config)
    return table.to_caller(np.where(_trained(table), credit.compute(table, settings), 0.0))


def learned(table: StepTable, method: str, **config: Any) -> Flags:
    """Return which steps count in the loss and its normaliser, bool [N], in the caller's row order.

    Takes what `advantages` takes. Left out are steps that are not trained on, those of earlier updates, those of
    unscorable episodes, and those that the method drops.

    Raises:
        CairnError: as `advantages`.
    """
    credit, settings = _load(table, method, config)
    kept = _trained(table) if credit.learned is None else _trained(table) & credit.learned(table, settings)
    return table.to_caller(kept)


def advantage_std(table: StepTable, method: str = "closure", **config: Any) -> Floats:
    """Return how uncertain each advantage is, as a standard deviation, float64 [N], in the caller's row order.

    Takes what `advantages` takes, of a method that has widths.

    Raises:
        CairnError: it has none; and what `advantages` raises.
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
