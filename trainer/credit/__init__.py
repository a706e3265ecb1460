"""Credit assignment: one advantage a step, from a `StepTable`. One file a method; `advantages` calls any of them."""

from __future__ import annotations

from typing import Any

from cairn.core.config import build
from cairn.core.plugins import CREDITS
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit._method import Credit

__all__ = ["Credit", "advantages"]


def advantages(table: StepTable, method: str, **config: Any) -> Floats:
    """Return one advantage a step, float64 [N], in the row order in which the caller gave the table.

    Args:
        table: the steps; groups are never mixed.
        method: a registered credit method, such as "grpo" or "gigpo".
        config: fields of the method's `Config`.

    Raises:
        UnknownNameError: no such method.
        ConfigError: a field that the method does not have, or a value that it does not take.
    """
    credit: Credit[Any] = CREDITS.load(method)
    return table.to_caller(credit.compute(table, build(credit.config, config, f"credit {method!r}")))
