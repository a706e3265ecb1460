"""Seeds are one curve with Student's interval; other settings are other curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cairn.viewer.catalog import find_runs
from cairn.viewer.curve_lines import mean_point, metric_line, variants
from cairn.viewer.pages.runs import opened
from tests.viewer.stored import CONFIG, EVAL, make_run


def settings(seed: int, method: str = "grpo") -> dict[str, Any]:
    return {**CONFIG, "seed": seed, "credit": {"method": method}}


def test_the_interval_is_students() -> None:
    point = mean_point(3, [1.0, 2.0, 3.0])  # s = 1, t(0.975, 2) = 4.3027, 4.3027 / sqrt(3) = 2.4841
    assert (point.y, point.n) == (2.0, 3)
    assert point.low == pytest.approx(2 - 2.4841, abs=1e-4)
    assert point.high == pytest.approx(2 + 2.4841, abs=1e-4)


def test_one_value_has_no_interval() -> None:
    assert mean_point(0, [1.0]).low is None


def test_seeds_share_a_curve_and_methods_have_separate_curves(tmp_path: Path) -> None:
    make_run(tmp_path / "a0", config=settings(0), metrics={"return": 1.0})
    make_run(tmp_path / "a1", config=settings(1), metrics={"return": 2.0})
    make_run(tmp_path / "b0", config=settings(0, "gigpo"), metrics={"return": 5.0})
    with opened(find_runs([tmp_path])) as (runs, _):
        found = variants(runs)
        lines = [metric_line(each, "return") for each in found]
    assert [each.label for each in found] == ["credit=grpo (2 seeds)", "b0"]
    assert [[(p.x, p.y, p.n) for p in line.points] for line in lines] == [[(1, 1.5, 2)], [(1, 5.0, 1)]]
    assert lines[0].points[0].low == pytest.approx(1.5 - 12.7062 * 0.5, abs=1e-3)  # t(0.975, 1) s / sqrt(2), s = 0.7071


def test_a_copy_of_a_run_does_not_count_as_another_seed(tmp_path: Path) -> None:
    for name, seed in (("a0", 0), ("copy", 0), ("a1", 1)):
        make_run(tmp_path / name, config=settings(seed))
    with opened(find_runs([tmp_path])) as (runs, _):
        assert [each.label for each in variants(runs)] == ["house (3 runs of 2 seeds)"]


def test_a_run_by_itself_has_the_interval_that_it_measured(tmp_path: Path) -> None:
    make_run(tmp_path / "a", metrics=EVAL)
    with opened(find_runs([tmp_path])) as (runs, _):
        points = metric_line(variants(runs)[0], "eval/success", 100).points
    assert [(p.y, p.low, p.high) for p in points] == [(50, 25, 75)]


def test_runs_of_unknown_settings_are_not_thrown_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_run(tmp_path / name, config={})
    with opened(find_runs([tmp_path])) as (runs, _):
        assert len(variants(runs)) == 2
