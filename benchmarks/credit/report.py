"""Results of the study: mean ranks, tables, bars, a JSON file and a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from cairn.benchmarks.credit.score import METRICS
from cairn.benchmarks.credit.study import EXACT, Condition, StudyResult
from cairn.benchmarks.outcome import ResultTable, row
from cairn.core.table import Floats

OURS = "closure"
SHOWN = ("cosine", "correlation")
NAMES = {"cosine": "gradient cosine", "correlation": "correlation with the exact advantages"}
MIDDLE = 0.4


def mean_ranks(results: Sequence[StudyResult], metric: str) -> dict[str, float]:
    """Return each method's rank (1 is best), averaged over conditions; ties share a mean rank."""
    values, methods, _ = grid([r for r in results if r.method != EXACT], metric)
    ranks = rankdata(-np.round(values, 6), axis=0).mean(1)
    return dict(sorted(zip(methods, ranks.tolist(), strict=True), key=lambda pair: pair[1]))


def grid(results: Sequence[StudyResult], metric: str) -> tuple[Floats, list[str], list[Condition]]:
    """Return values [methods, conditions] with the names of both axes."""
    methods = list(dict.fromkeys(r.method for r in results))
    where = list(dict.fromkeys(r.condition for r in results))
    found = {(r.method, r.condition): r.of(metric)[0] for r in results}
    return np.array([[found[m, c] for c in where] for m in methods]), methods, where


def bars(results: Sequence[StudyResult], sparse: Sequence[str], is_claim: bool) -> list[dict[str, object]]:
    """Return the rows with the claims about `OURS`, at one group size."""
    at_middle = {(r.method, r.condition.world): r for r in results if r.condition.level == MIDDLE}
    worlds = list(dict.fromkeys(world for _, world in at_middle))
    rows = []
    for metric in SHOWN:
        ranks = mean_ranks(results, metric)
        others = {name: rank for name, rank in ranks.items() if name != OURS}
        second = min(others, key=lambda name: others[name])
        rows.append(row(
            f"credit: {OURS}, mean rank of {len(ranks)} in {NAMES[metric]}", ranks[OURS], "rank",
            f"<= {others[second]:.2f}" if is_claim else None, f"next best: {second}, {others[second]:.2f}",
        ))  # fmt: skip
        beaten = [w for w in worlds if _is_above(at_middle, metric, w, ("gigpo", "grpo"))]
        rows.append(row(
            f"credit: {OURS} above gigpo and grpo at 40 % in {NAMES[metric]}, intervals apart", float(len(beaten)),
            f"of {len(worlds)} problems", ">= 5" if is_claim else None, None,
        ))  # fmt: skip
        rows += [
            row(
                f"credit: {OURS} above {rival} at 40 % on {world} (sparse) in {NAMES[metric]}, space between intervals",
                at_middle[OURS, world].of(metric)[1] - at_middle[rival, world].of(metric)[2], "",
                "> 0" if is_claim else None,
                f"{rival} {_shown(at_middle[rival, world], metric)}, {OURS} {_shown(at_middle[OURS, world], metric)}",
            )
            for world in sparse for rival in ("crbc", "graft")
        ]  # fmt: skip
    return rows


def tables(results: Sequence[StudyResult]) -> list[ResultTable]:
    """Return one table per metric: methods by mean rank, problems at 40 %."""
    out = []
    for metric in SHOWN:
        ranks = mean_ranks(results, metric)
        where = [c for c in dict.fromkeys(r.condition for r in results) if c.level == MIDDLE]
        found = {(r.method, r.condition): r for r in results}
        shown = {name: f"{rank:.2f}" for name, rank in ranks.items()}
        if (EXACT, where[0]) in found:
            shown = {EXACT: "", **shown}
        lines = [(name, rank, *(_shown(found[name, c], metric) for c in where)) for name, rank in shown.items()]
        title = f"{NAMES[metric]}, groups of {where[0].size}: mean rank over all levels; at 40 %, with 95 % intervals"
        out.append(ResultTable(title=title, columns=("method", "rank", *(c.world for c in where)), rows=tuple(lines)))
    return out


def write(results: Sequence[StudyResult], facts: dict[str, object], path: Path) -> None:
    """Write every number of the study as JSON."""
    rows = [
        {
            "method": r.method, "world": r.condition.world, "level": r.condition.level, "size": r.condition.size,
            **{metric: [round(x, 5) for x in r.of(metric)] for metric in METRICS},
        }
        for r in results
    ]  # fmt: skip
    lines = ",\n".join("  " + json.dumps(line) for line in rows)
    path.write_text(f'{{"facts": {json.dumps(facts)},\n"results": [\n{lines}\n]}}\n', encoding="utf-8")


def draw(results: Sequence[StudyResult], path: Path) -> None:
    """Write the figure: both metrics of all methods under all conditions of one group size.

    The method with the best mean rank is on top.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    results = [r for r in results if r.method != EXACT]
    count = len({r.method for r in results})
    figure = Figure(figsize=(16, 2.2 + 0.27 * count), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, metric in zip(figure.subplots(1, 2), SHOWN, strict=True):
        values, methods, where = grid(results, metric)
        ranks = mean_ranks(results, metric)
        order = [methods.index(name) for name in ranks]
        axis.imshow(values[order], cmap="YlGnBu", vmin=0, vmax=0.9, aspect="auto")
        for y, line in enumerate(values[order]):
            for x, value in enumerate(line):
                axis.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=7, color=_ink(value))
        axis.set_yticks(range(count), [f"{name}  {rank:.1f}" for name, rank in ranks.items()], fontsize=8)
        axis.set_xticks(
            range(len(where)), [f"{c.world} {c.level:.0%}" for c in where], rotation=60, ha="right", fontsize=8
        )
        axis.set_title(f"{NAMES[metric].capitalize()}, and mean rank", loc="left", weight="bold")
        axis.spines[:].set_visible(False)
    figure.suptitle(
        f"CreditBench: groups of {results[0].condition.size} episodes; columns: problem and success of the policy"
    )
    figure.savefig(path, dpi=90)


def _is_above(results: dict[tuple[str, str], StudyResult], metric: str, world: str, rivals: Sequence[str]) -> bool:
    low = results[OURS, world].of(metric)[1]
    return all(low > results[rival, world].of(metric)[2] for rival in rivals)


def _shown(result: StudyResult, metric: str) -> str:
    found, low, high = result.of(metric)
    return f"{found:.3f} [{low:.3f}, {high:.3f}]"


def _ink(value: float) -> str:
    return "white" if value > 0.5 else "black"
