"""Measures the calibration of closure's widths: the coverage of ``A +- 1.645 width``.

Also measures the correlation of width and error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cairn.benchmarks.credit.mdp import Exact
from cairn.benchmarks.credit.rollouts import Rows
from cairn.benchmarks.credit.score import truths
from cairn.benchmarks.credit.study import Condition, episodes
from cairn.benchmarks.outcome import ResultTable, Row, row
from cairn.benchmarks.process import watched
from cairn.trainer.credit import advantage_std, advantages

METHOD = "closure"
NINETY = 1.645  # standard deviations on either side of a normal distribution's mean that hold 90 %
LOW, HIGH = 0.85, 0.95


def measure(where: Sequence[Condition], is_claim: bool) -> tuple[list[Row], ResultTable]:
    """Return the rows and the table of all conditions."""
    covered, lines = [], []
    for condition in watched("credit: widths under each condition", where):
        found = [_task(*task[1:]) for task in episodes(condition)]
        share, correlation = np.mean(found, axis=0)
        covered.append(share)
        lines.append((condition.world, f"{condition.level:.0%}", f"{share:.3f}", f"{correlation:.2f}"))
    mean = float(np.mean(covered))
    low, high = (f">= {LOW}", f"<= {HIGH}") if is_claim else (None, None)
    rows = [
        row("credit: widths, share of exact advantages in 90 % intervals", mean, "share", low),
        row("credit: widths, the same, not too wide", mean, "share", high),
        row("credit: widths, least share of a condition", float(np.min(covered)), "share", low),
        row("credit: widths, greatest share of a condition", float(np.max(covered)), "share"),
    ]
    title = f"{METHOD}'s 90 % intervals: share that holds the exact advantage; correlation of width and error"
    return rows, ResultTable(title=title, columns=("problem", "success", "share", "correlation"), rows=tuple(lines))


def _task(exact: Exact, rows: Rows) -> tuple[float, float]:
    order = rows.table.order
    found, width = advantages(rows.table, METHOD)[order], advantage_std(rows.table, METHOD)[order]
    error = np.abs(found - truths(exact, rows))
    return float((error <= NINETY * width).mean()), float(np.corrcoef(width, error)[0, 1])
