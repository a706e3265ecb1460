"""Curves of runs as figures for papers: one file per metric, as SVG and as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cairn.viewer.catalog import find_runs
from cairn.viewer.charts import CurveLine
from cairn.viewer.curve_lines import CurveVariant, OpenRun, metric_line, variants
from cairn.viewer.pages.runs import opened

_FIGURES = (  # metric, axis label, factor
    ("eval/success", "Success on evaluation tasks, %", 100.0),
    ("success", "Success in training, %", 100.0),
    ("return", "Return", 1.0),
    ("turns", "Turns an episode", 1.0),
    ("entropy", "Entropy, nats a decision", 1.0),
)
_COLOURS = ("#0b7285", "#e8590c", "#5f3dc4", "#2f9e44", "#c2255c", "#1864ab", "#e67700", "#495057")
_DPI = 300
_FEW = 15  # fewer points than this get markers


def write_figures(places: Sequence[Path], folder: Path) -> list[Path]:
    """Write a figure for each metric of the runs, with 95 % intervals over seeds.

    Return the files.

    Runs that cannot be read are left out; `cairn report` lists them.

    Raises:
        CairnError: no run exists at these paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with opened(find_runs(places)) as (runs, _):
        found = variants(runs)
        for name, label, scale in _FIGURES:
            if _has(runs, name):
                files += _figure(found, name, label, scale, folder)
    return files


def _has(runs: Sequence[OpenRun], name: str) -> bool:
    return any(run.store.series(name) for run in runs)


def _figure(found: Sequence[CurveVariant], name: str, label: str, scale: float, folder: Path) -> list[Path]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    axis: Any = figure.subplots()  # Any: matplotlib's axes carry no types
    for line in (metric_line(variant, name, scale) for variant in found):
        if line.points:
            _draw(axis, line)
    axis.set_xlabel("updates")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_ylabel(label)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    files = [folder / f"{name.replace('/', '-')}.{kind}" for kind in ("svg", "png")]
    for file in files:
        figure.savefig(file, dpi=_DPI)
    return files


def _draw(axis: Any, line: CurveLine) -> None:  # Any: as above
    colour = _COLOURS[line.colour % len(_COLOURS)]
    marker = "o" if len(line.points) < _FEW else None
    x, y = [p.x for p in line.points], [p.y for p in line.points]
    axis.plot(x, y, color=colour, marker=marker, ms=3, label=_plain(line.label))
    spread = [p for p in line.points if p.low is not None]
    low, high = [p.low for p in spread], [p.high for p in spread]
    axis.fill_between([p.x for p in spread], low, high, color=colour, alpha=0.15, lw=0)


def _plain(text: str) -> str:
    """Return a label without text that matplotlib would parse as mathematics, or omit."""
    return text.replace("$", r"\$")[:60].lstrip("_") or "run"
