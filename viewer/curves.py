"""One picture of a run: evaluation success with its interval, and metrics that explain it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cairn.agents.evaluation.report import name_tasks
from cairn.core.store import RunStore
from cairn.viewer.queries import training_share

_PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Turns an episode", (("turns", "training"), ("eval/turns", "evaluation"))),
    ("Entropy of the policy", (("entropy", "nats a decision"),)),
    (
        "Step-level comparison: shares of steps, of groups",
        (
            ("anchor_coverage", "shared anchor"),
            ("zero_advantage", "zero advantage"),
            ("zero_spread", "groups without spread"),
        ),
    ),
)


def draw_curves(store: RunStore, path: Path, title: str) -> Path:
    """Write a PNG of the run's curves and return its path."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2).reshape(-1)
    _draw_success(axes[0], store)
    for axis, (name, series) in zip(axes[1:], _PANELS, strict=True):
        _draw_series(axis, store, name, series)
    for axis in axes:
        axis.set_xlabel("updates")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    return path


def _draw_success(axis: Any, store: RunStore) -> None:  # Any: matplotlib's axes carry no types
    train, evaluated = store.series("success"), store.series("eval/success")
    name = name_tasks(training_share(store))
    low, high = store.series("eval/low"), store.series("eval/high")
    axis.plot(*_columns(train), color="#9aa5b1", lw=1, label="training tasks (sampled)")
    axis.plot(*_columns(evaluated), color="#0b7285", lw=2, marker="o", ms=4, label=f"{name} (evaluated)")
    if evaluated:
        steps = [step for step, _ in evaluated]
        axis.fill_between(
            steps, _percent(low), _percent(high), color="#0b7285", alpha=0.15, label="95 % interval", lw=0
        )
        axis.annotate(
            f"{100 * evaluated[-1][1]:.0f} %",
            (steps[-1], 100 * evaluated[-1][1]),
            textcoords="offset points",
            xytext=(6, 0),
            va="center",
            color="#0b7285",
            weight="bold",
        )
    ceiling = [level for _, level in store.series("eval/ceiling")]
    if ceiling and min(ceiling) < 1:
        axis.axhline(100 * ceiling[-1], color="#868e96", lw=1, ls="--", label="no agent can solve more")
    axis.set_ylim(0, 102)
    _name(axis, "Success, %")


def _draw_series(axis: Any, store: RunStore, title: str, series: Sequence[tuple[str, str]]) -> None:  # Any: as above
    colours = ("#5f3dc4", "#e8590c", "#2f9e44")
    for (name, label), colour in zip(series, colours, strict=False):
        steps, values = _columns(store.series(name), scale=1.0)
        axis.plot(steps, values, color=colour, lw=1.5, marker="o" if len(steps) < 15 else None, ms=3, label=label)
    axis.set_ylim(bottom=0)
    _name(axis, title)


def _name(axis: Any, title: str) -> None:  # Any: as above
    """Write the title, and below it, outside the plot, the legend."""
    axis.set_title(title, loc="left", pad=24, weight="bold")
    named = axis.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=9, handlelength=1.2, columnspacing=1.2
    )
    named.set_in_layout(False)  # the plot keeps its size


def _columns(points: Sequence[tuple[int, float]], scale: float = 100.0) -> tuple[list[int], list[float]]:
    return [step for step, _ in points], [scale * value for _, value in points]


def _percent(points: Sequence[tuple[int, float]]) -> list[float]:
    return [100 * value for _, value in points]
