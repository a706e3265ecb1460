"""CreditBench: measures the quality and speed of credit methods against exact advantages.

`run` measures quality and widths by default, times with `speed`, and the combinations of the graph family with
`factorial`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from cairn.benchmarks.credit import factorial as combinations
from cairn.benchmarks.credit import report, widths
from cairn.benchmarks.credit import speed as times
from cairn.benchmarks.credit.study import Condition, conditions, episodes, measurable, study
from cairn.benchmarks.outcome import Measurement, row
from cairn.core.errors import CairnError
from cairn.trainer.credit.kernel.segments import segments

SIZE = 8  # the group size of bars, tables and figure
SPARSE = 0.5  # minimum share of steps that are alone in their state, for a sparse problem


def run(quick: bool = False, speed: bool = False, factorial: bool = False, out: Path | None = None) -> Measurement:
    """Measure, and write ``creditbench.json`` and ``.png`` to `out`; `quick`: under 45 s.

    Raises:
        CairnError: more than one of `speed`, `factorial` and `out` is given.
    """
    if speed + factorial + (out is not None) > 1:
        raise CairnError("cairn bench credit: --speed, --factorial and --out exclude each other")
    if speed:
        return Measurement(rows=times.measure(quick))
    if factorial:
        where = [replace(c, tasks=2, groups=20 if quick else 50) for c in conditions(True)]
        rows, table = combinations.measure(where)
        return Measurement(rows=rows, tables=[table, combinations.ablation(where)])
    return _quality(quick, out)


def _quality(quick: bool, out: Path | None) -> Measurement:
    methods, left_out = measurable()
    results = list(study(methods, conditions(quick)))
    at_size = [r for r in results if r.condition.size == SIZE]
    where = list(dict.fromkeys(r.condition for r in at_size))
    alone = {c.world: _alone(c) for c in where if c.level == report.MIDDLE}
    sparse = [world for world, share in alone.items() if share > SPARSE]
    calibration, table = widths.measure(where, not quick)
    rows = [
        *report.bars(at_size, sparse, not quick),
        *calibration,
        *(
            row(f"credit: {world} at 40 %, steps alone in their state", share, "share")
            for world, share in alone.items()
        ),
        *(row(f"credit: {name} not measured: it needs more than steps", None, "") for name in left_out),
    ]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        report.write(results, {"alone": alone, "not_measured": left_out}, out / "creditbench.json")
        report.draw(at_size, out / "creditbench.png")
    return Measurement(rows=rows, tables=[*report.tables(at_size), table])


def _alone(condition: Condition) -> float:
    """Return the share of steps whose state occurs only once in the group."""
    shares = []
    for _, _, rows in episodes(condition):
        anchor = segments(rows.table.group, rows.table.anchor)
        shares.append(float((np.bincount(anchor)[anchor] == 1).mean()))
    return float(np.mean(shares))
