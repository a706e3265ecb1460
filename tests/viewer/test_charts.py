"""Geometry of charts, against places worked out by hand."""

from __future__ import annotations

import math

from cairn.viewer.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MOST_POINTS,
    RIGHT,
    TOP,
    WIDTH,
    CurveLine,
    Point,
    histogram,
    line_chart,
)


def line(*points: tuple[float, float]) -> CurveLine:
    return CurveLine(label="a", points=tuple(Point(x=x, y=y) for x, y in points))


def test_a_line_runs_from_corner_to_corner() -> None:
    chart = line_chart("t", "u", [line((0, 0), (10, 100))], top=100)
    assert chart.lines[0].path == f"M{LEFT} {HEIGHT - BOTTOM}L{WIDTH - RIGHT} {TOP}"


def test_ticks_are_round_and_cover_the_values() -> None:
    chart = line_chart("t", "u", [line((0, 0.0), (4, 0.37))])
    assert [tick.label for tick in chart.y_ticks] == ["0", "0.1", "0.2", "0.3", "0.4"]
    assert [tick.label for tick in chart.x_ticks] == ["0", "1", "2", "3", "4"]


def test_negative_values_have_room() -> None:
    chart = line_chart("t", "u", [line((0, -1.0), (1, 1.0))])
    assert [tick.label for tick in chart.y_ticks] == ["\u22121.0", "\u22120.5", "0", "0.5", "1.0"]


def test_an_interval_is_a_band_that_is_closed_the_way_back() -> None:
    points = (Point(x=0, y=50, low=0, high=100), Point(x=1, y=50, low=50, high=100))
    drawn = line_chart("t", "u", [CurveLine(label="a", points=points)], top=100).lines[0]
    low, middle, high = HEIGHT - BOTTOM, (HEIGHT - BOTTOM + TOP) / 2, TOP
    assert drawn.band == f"M{LEFT} {low}L{WIDTH - RIGHT} {middle:g}L{WIDTH - RIGHT} {high}L{LEFT} {high}"


def test_infinite_and_nan_values_are_not_drawn() -> None:
    chart = line_chart("t", "u", [line((0, 1.0), (1, math.nan), (2, math.inf), (3, 2.0))])
    assert [point.x for point in chart.lines[0].points] == [0, 3]
    assert "nan" not in chart.lines[0].path


def test_a_long_line_is_thinned_and_keeps_its_ends() -> None:
    chart = line_chart("t", "u", [line(*((x, 1.0) for x in range(10_001)))])
    kept = chart.lines[0].points
    assert chart.is_thinned
    assert len(kept) <= MOST_POINTS + 1
    assert (kept[0].x, kept[-1].x) == (0, 10_000)


def test_a_chart_may_have_no_lines() -> None:
    assert line_chart("t", "u", []).lines == ()


def test_a_histogram_counts_each_value_once() -> None:
    bars = histogram("t", "u", [0.0, 0.1, 0.5, 1.0, math.nan], num_bars=2).bars
    assert [bar.count for bar in bars] == [2, 2]  # 0 and 0.1; 0.5 and 1
    assert [bar.height for bar in bars] == [HEIGHT - BOTTOM - TOP] * 2


def test_equal_values_have_a_bar() -> None:
    assert sum(bar.count for bar in histogram("t", "u", [3.0] * 7).bars) == 7


def test_an_interval_ends_where_values_can() -> None:
    points = (Point(x=0, y=90, low=70, high=110), Point(x=1, y=90, low=70, high=110))
    chart = line_chart("t", "u", [CurveLine(label="a", points=points)], top=100)
    assert chart.y_ticks[-1].label == "100"
    assert [high for _, _, high in chart.lines[0].whiskers] == [TOP, TOP]
    assert chart.lines[0].points[0].high == 110  # as the table says


def test_a_quiet_line_has_no_band() -> None:
    points = tuple(Point(x=x, y=1, low=0, high=2) for x in range(3))
    assert line_chart("t", "u", [CurveLine(label="a", points=points, is_quiet=True)]).lines[0].band == ""
