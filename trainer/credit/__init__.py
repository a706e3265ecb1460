"""Credit assignment: computes one advantage per step from a `StepTable`.

Each method is one file; `advantages` calls a method by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.plugins import CREDITS
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit, DropsRows, Estimator, HasStd

__all__ = ["CheckedEstimator", "advantage_std", "advantages"]


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
    return table.to_caller(CheckedEstimator(method, config)(table))


def advantage_std(table: StepTable, method: str = "closure", **config: Any) -> Floats:
    """Return the standard deviation of each advantage, float64 [N], in the caller's row order.

    The arguments are those of `advantages`; the method must be able to tell them.

    Raises:
        CairnError: the method has no standard deviations; or an error of `advantages`.
    """
    return table.to_caller(CheckedEstimator(method, config).std(table))


class CheckedEstimator:
    """A credit method with its settings, which checks that each table has the method's columns."""

    def __init__(self, method: str, settings: Mapping[str, Any]) -> None:  # Any: the method's Config validates them
        """Make the estimator.

        Raises:
            UnknownNameError: the method is unknown.
            ConfigError: a setting is unknown or invalid.
        """
        self.method = method
        self._credit: Credit[Any] = CREDITS.load(method)  # Any: its own Config
        self._config = CREDITS.config(method, settings)
        self._estimator: Estimator = self._credit.make(self._config)

    def __call__(self, table: StepTable) -> Floats:
        """Return one advantage per row, float64 [N], in the table's own order; 0 for untrained rows.

        Raises:
            CairnError: the table lacks a column or part that the method needs.
        """
        self._check(table)
        return np.where(_trained(table), self._estimator(table), 0.0)

    def learned(self, table: StepTable) -> Flags:
        """Return flags of the rows in the loss and its normaliser, bool [N], in the table's own order.

        Untrained rows, rows of earlier updates and rows that the method drops are False.
        """
        trained = _trained(table)
        return trained & self._estimator.learned(table) if isinstance(self._estimator, DropsRows) else trained

    def std(self, table: StepTable) -> Floats:
        """Return the standard deviation of each advantage, float64 [N], in the table's own order.

        Raises:
            CairnError: the method has none, or the table lacks a column that the method needs.
        """
        self._check(table)
        if not isinstance(self._estimator, HasStd):
            able = [name for name in CREDITS.ids() if isinstance(CREDITS.build(name, {}), HasStd)]
            raise CairnError(f"credit {self.method!r} has no standard deviations; these have: {', '.join(able)}")
        return self._estimator.std(table)

    def _check(self, table: StepTable) -> None:
        credit, method = self._credit, self.method
        missing = [name for name in credit.needs if not _has(table, name)]
        if missing:
            form = "as names of channels" if missing == ["parts"] else "one value a row"
            raise CairnError(
                f"credit {method!r} needs {', '.join(missing)}, which this StepTable does not have: "
                f"give it to StepTable.from_columns, {form}"
            )
        if unknown := [name for name in credit.parts(self._config) if name not in table.parts]:
            raise CairnError(
                f"credit {method!r}: expected parts of the reward, got {unknown}; the table's parts are "
                f"{list(table.parts)}"
            )
        if table.past is not None and not credit.reads_past:
            able = [name for name in CREDITS.ids() if CREDITS.load(name).reads_past]
            raise CairnError(f"credit {method!r} compares all rows; leave `past` out, or use one of: {', '.join(able)}")


def _trained(table: StepTable) -> Flags:
    return table.trained if table.past is None else table.trained & ~table.past


def _has(table: StepTable, name: str) -> bool:
    found = getattr(table, name)
    return bool(found) if name in ("channels", "parts") else found is not None
