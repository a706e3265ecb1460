"""The factorial study: all combinations of state key, value backup, credit and normaliser.

They are settings of the method `graph`.

The module also measures `closure` with one setting changed at a time.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from cairn.benchmarks.credit.report import mean_ranks
from cairn.benchmarks.credit.study import Condition, study
from cairn.benchmarks.outcome import ResultTable, Row, row

KEYS = ("anchor", "observations(2)", "turn")
BACKUPS = ("none", "visit_mean", "fixed_point", "best", "distance")
CREDITS = ("return", "difference", "td", "q_minus_v", "gae")
NORMALIZERS = ("none", "centre", "std", "floor")


CHANGES: dict[str, dict[str, Any]] = {  # Any: settings of several types
    "as it is": {},
    "timeout is failure": {"timeout": "failure"},
    "aliases are not split": {"split_rounds": 0},
    "no prior visits": {"prior_visits": 0.0},
    "one prior visit": {"prior_visits": 1.0},
    "no prior actions": {"prior_actions": 0.0},
    "actions are not pooled": {"prior_pool": None},
    "discount 0.99": {"gamma": 0.99},
    "own episode left out": {"leave_own_out": True},
    "the finer key of two states": {"keys": ("anchor", "observations(2)")},
}


def combinations() -> dict[str, tuple[str, dict[str, Any]]]:  # Any: settings of several types
    """Return all valid combinations: only a return needs no values."""
    out = {}
    for key, backup, credit, normalize in product(KEYS, BACKUPS, CREDITS, NORMALIZERS):
        if (credit == "return") != (backup == "none"):
            continue
        settings = {"key": key, "backup": backup, "credit": credit, "normalize": normalize, "gamma": 0.95, "lam": 0.5}
        out[f"{key} | {backup} | {credit} | {normalize}"] = ("graph", settings)
    return out


def measure(where: list[Condition]) -> tuple[list[Row], ResultTable]:
    """Return the number of combinations, and a table of mean ranks and means of both metrics."""
    methods = combinations()
    results = [r for r in study(methods, where) if r.method in methods]
    ranks = {metric: mean_ranks(results, metric) for metric in ("cosine", "correlation")}
    lines = [
        (
            *name.split(" | "),
            f"{ranks['cosine'][name]:.1f}",
            f"{ranks['correlation'][name]:.1f}",
            *_means(results, name),
        )
        for name in ranks["cosine"]
    ]
    columns = ("key", "backup", "credit", "normaliser", "rank, cosine", "rank, correlation", "cosine", "correlation")
    title = f"all combinations, groups of {where[0].size}, over {len(where)} conditions"
    return [row("credit: combinations of slots", float(len(methods)), "")], ResultTable(
        title=title, columns=columns, rows=tuple(lines)
    )


def ablation(where: list[Condition]) -> ResultTable:
    """Return the table of closure with one setting changed at a time."""
    results = list(study({name: ("closure", settings) for name, settings in CHANGES.items()}, where))
    lines = tuple((name, *_means(results, name)) for name in CHANGES)
    columns = ("closure, with", "cosine", "correlation")
    return ResultTable(
        title=f"closure, groups of {where[0].size}, means over {len(where)} conditions", columns=columns, rows=lines
    )


def _means(results: list[Any], name: str) -> tuple[str, ...]:  # Any: Result
    mine = [r for r in results if r.method == name]
    return tuple(f"{sum(r.of(metric)[0] for r in mine) / len(mine):.3f}" for metric in ("cosine", "correlation"))
