"""Geometry of charts: lines with intervals, and histograms. Templates draw it as SVG.

A chart has fixed proportions, a title, axes with round numbers, and a table of its values. If a line has more than
`MOST_POINTS` points, every k-th and the last are drawn; the table then has the same points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 460, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 10, 34  # margins around the frame, in the picture's units
MOST_POINTS = 300
COLOURS = 8  # line colours of the style sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value, and optionally its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    n: int = 1  # number of averaged runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLine:
    """Points by x."""

    label: str
    points: tuple[Point, ...]
    is_quiet: bool = False  # drawn thin, for comparison
    colour: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A tick of an axis."""

    at: float  # in the picture's units
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A line in the picture."""

    line: CurveLine
    path: str  # of the line
    band: str  # the interval's area; "": no interval
    dots: tuple[tuple[float, float, str], ...]  # x, y and label; empty if there are many
    whiskers: tuple[tuple[float, float, float], ...]  # x, y of low and of high; empty if there are many
    points: tuple[Point, ...]  # the drawn points


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture of lines."""

    title: str
    unit: str  # quantity and unit of y
    x_label: str
    lines: tuple[Drawn, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    is_thinned: bool
    has_intervals: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBar:
    """One bar of a histogram, in the picture's units."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts of values by interval."""

    title: str
    unit: str
    bars: tuple[HistogramBar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def line_chart(
    title: str, unit: str, lines: Sequence[CurveLine], *, x_label: str = "updates", top: float | None = None
) -> Chart:
    """Return the chart of these lines.

    The y axis begins at 0 if no value is negative. With `top`, the maximum possible value, the axis ends there, and
    intervals in the picture are clipped; the table has them unclipped. Intervals of quiet lines are only in the table.
    """
    thin = [(line, _thin([p for p in line.points if math.isfinite(p.y)])) for line in lines]
    points = [point for _, kept in thin for point in kept]
    xs = [p.x for p in points] or [0.0]
    ys = [y for p in points for y in (p.y, p.low, p.high) if y is not None and math.isfinite(y)] or [0.0]
    x_axis = _Axis.over(min(xs), max(xs), LEFT, WIDTH - RIGHT, whole=True)
    y_axis = _Axis.over(min(0.0, *ys) if top is None else 0.0, top or max(ys), HEIGHT - BOTTOM, TOP)
    return Chart(
        title=title,
        unit=unit,
        x_label=x_label,
        lines=tuple(_drawn(line, kept, x_axis, y_axis, unit) for line, kept in thin),
        x_ticks=x_axis.ticks,
        y_ticks=y_axis.ticks,
        is_thinned=any(len(kept) < len(line.points) for line, kept in thin),
        has_intervals=any(p.low is not None for p in points),
    )


def histogram(title: str, unit: str, values: Sequence[float], num_bars: int = 25) -> Histogram:
    """Return the counts of values in `num_bars` equal intervals from minimum to maximum."""
    found = [v for v in values if math.isfinite(v)]
    low, high = (min(found), max(found)) if found else (0.0, 0.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = (high - low) / num_bars
    counts = [0] * num_bars
    for value in found:
        counts[min(int((value - low) / step), num_bars - 1)] += 1
    x_axis = _Axis.over(low, high, LEFT, WIDTH - RIGHT)
    y_axis = _Axis.over(0, max(counts), HEIGHT - BOTTOM, TOP, whole=True)
    return Histogram(
        title=title,
        unit=unit,
        bars=tuple(_bar(low + i * step, low + (i + 1) * step, n, x_axis, y_axis) for i, n in enumerate(counts)),
        x_ticks=x_axis.ticks,
        y_ticks=y_axis.ticks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    low: float
    high: float
    begin: float  # in the picture's units
    end: float
    ticks: tuple[Tick, ...]

    @classmethod
    def over(cls, low: float, high: float, begin: float, end: float, *, whole: bool = False) -> _Axis:
        """Return the axis over these values, with about five round ticks."""
        if high <= low:
            high = low + 1
        step = _round_step((high - low) / 4.5)
        if whole:
            step = max(step, 1.0)
        if not whole:
            low, high = step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)
        axis = cls(low=low, high=high, begin=begin, end=end, ticks=())
        first = math.ceil(low / step - 1e-9)
        marks = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
        ticks = tuple(Tick(at=axis.place(mark), label=_label(mark, step)) for mark in marks)
        return cls(low=low, high=high, begin=begin, end=end, ticks=ticks)

    def place(self, value: float) -> float:
        """Return the position of a value in the picture's units, clipped to the axis."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(self.begin + share * (self.end - self.begin), 1)


def _round_step(rough: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _label(mark: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{mark:,.{digits}f}" if abs(mark) < 1e6 or digits else f"{mark:.3g}"
    return ("0" if mark == 0 else text).replace("-", "\u2212")


def _thin(points: Sequence[Point]) -> tuple[Point, ...]:
    stride = -(-len(points) // MOST_POINTS) if points else 1
    kept = list(points[::stride])
    if points and kept[-1] is not points[-1]:
        kept.append(points[-1])
    return tuple(kept)


def _drawn(line: CurveLine, points: tuple[Point, ...], x_axis: _Axis, y_axis: _Axis, unit: str) -> Drawn:
    at = [(x_axis.place(p.x), y_axis.place(p.y)) for p in points]
    ends = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None and not line.is_quiet]
    around = [(x, low) for x, low, _ in ends] + [(x, high) for x, _, high in reversed(ends)]
    labels = [f"{line.label}: {_value(p)} {unit}, at {p.x:g}" for p in points]
    dots = tuple((x, y, text) for (x, y), text in zip(at, labels, strict=True)) if len(points) <= 60 else ()
    return Drawn(
        line=line,
        path=_path(at),
        band=_path([(x_axis.place(x), y_axis.place(y)) for x, y in around]) if len(ends) > 1 else "",
        dots=dots,
        whiskers=tuple((x_axis.place(x), y_axis.place(a), y_axis.place(b)) for x, a, b in ends)
        if len(ends) < 12
        else (),
        points=points,
    )


def _value(point: Point) -> str:
    interval = "" if point.low is None or point.high is None else f" [{point.low:.3g}, {point.high:.3g}]"
    return f"{point.y:.3g}{interval}"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def _bar(low: float, high: float, count: int, x_axis: _Axis, y_axis: _Axis) -> HistogramBar:
    left, right, top, base = x_axis.place(low), x_axis.place(high), y_axis.place(count), y_axis.place(0)
    return HistogramBar(
        x=left, y=top, width=max(round(right - left - 1, 1), 0.5), height=round(base - top, 1), low=low, high=high,
        count=count,
    )  # fmt: skip
