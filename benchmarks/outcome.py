"""The result of a benchmark: rows with values and bars, and tables."""

from __future__ import annotations

from dataclasses import dataclass, field

Row = dict[str, object]  # name, value, unit, baseline, bar, holds
_SIGNS = {">=": float.__ge__, ">": float.__gt__, "<=": float.__le__, "<": float.__lt__}


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """A table for display."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The result of a benchmark."""

    rows: list[Row]
    tables: list[ResultTable] = field(default_factory=list)


def row(name: str, value: float | None, unit: str, bar: str | None = None, baseline: str | None = None) -> Row:
    """Return one row; `bar` is a comparison such as ">= 0.97", skipped if the value is None."""
    holds = None
    if bar is not None and value is not None:
        sign, limit = bar.split()
        holds = _SIGNS[sign](float(value), float(limit))
    return {"name": name, "value": value, "unit": unit, "baseline": baseline, "bar": bar, "holds": holds}
