"""A person's view of a run: lines in files, a live table in a terminal, and escaped markup in names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from cairn.cli._shared.training_view import TrainingView
from cairn.trainer.callbacks import RolloutProgress

METRICS = {
    "success": 0.25, "return": 0.5, "turns": 7.0, "entropy": 0.31, "kl": 0.0004, "anchor_coverage": 0.5,
    "zero_spread": 0.125, "tokens_per_second": 12345.6,
}  # fmt: skip
NO_GRADIENT = {name: value for name, value in METRICS.items() if name not in ("entropy", "kl")}


def shown(*, is_terminal: bool, width: int = 140, runs: int = 1) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=width, force_terminal=is_terminal, color_system=None)
    with TrainingView(console, updates=3) as watch:
        for _ in range(runs):
            watch.on_start(Path("runs/[bold]x"), {"task": "[red]household"})
            watch.on_phase("update 1", 4)
            watch.on_advance(4)
            watch.on_update(1, METRICS)
            watch.on_update(2, NO_GRADIENT)
    return screen.getvalue()


@pytest.mark.parametrize("width", [40, 140])
def test_without_a_terminal_every_update_is_a_line(width: int) -> None:
    lines = shown(is_terminal=False, width=width).splitlines()
    assert "run runs/[bold]x" in lines
    assert lines[2] == (
        "update 1/3: success 25%, return 0.50, turns 7.0, entropy 0.31, KL 0.0004, anchors shared 50%, no spread 12%, "
        "tokens/s 12,346, stale -, ? left"
    )


def test_values_that_were_not_computed_are_shown_as_dashes() -> None:
    line = shown(is_terminal=False).splitlines()[3]
    assert "entropy -, KL -, anchors shared 50%" in line
    assert "nan" not in line


def test_a_terminal_shows_the_newest_updates_as_a_table() -> None:
    screen = shown(is_terminal=True)
    last = screen[screen.rindex("anchors shared") :]
    assert "2/3" in last
    assert "12,346" in last
    assert "[red]household" in screen


def test_each_run_of_a_comparison_has_its_own_table_and_clock() -> None:
    assert shown(is_terminal=False, runs=2).splitlines()[6].endswith("? left")
    screen = shown(is_terminal=True, runs=2)
    assert screen[screen.rindex("anchors shared") :].count("2/3") == 1


PULSE = RolloutProgress(in_flight=64, tokens_per_second=3210.4, success=0.41, staleness=0.25)


def test_a_terminal_shows_how_a_phase_is_going() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=140, force_terminal=True, color_system=None)
    with TrainingView(console, updates=3) as watch:
        watch.on_phase("rollout", 128)
        watch.on_advance(40)
        watch.on_progress(PULSE)
    shown = next(line for line in screen.getvalue().splitlines() if "in flight" in line)
    assert "rollout" in shown
    assert "40/128" in shown
    assert "64 in flight, 3,210 tokens/s, success 41%, 0.2 updates behind" in shown


def test_without_a_terminal_a_long_phase_reports_once_a_minute() -> None:
    now = [0.0]
    screen = io.StringIO()
    watch = TrainingView(Console(file=screen, width=140, color_system=None), updates=3, clock=lambda: now[0])
    watch.on_phase("rollout", 128)
    watch.on_advance(40)
    for now[0] in (1.0, 59.0, 61.0, 90.0, 122.0):
        watch.on_progress(PULSE)
    # 40 in 61 s: 88 more take 134 s. 40 in 122 s: 88 more take 268 s.
    reported = "64 in flight, 3,210 tokens/s, success 41%, 0.2 updates behind"
    assert screen.getvalue().splitlines() == [
        f"rollout: 40 of 128, {left} left, {reported}" for left in ("2:14", "4:28")
    ]


def test_unknown_values_are_left_out() -> None:
    screen = io.StringIO()
    watch = TrainingView(Console(file=screen, width=140, color_system=None, force_terminal=True), updates=3)
    with watch:
        watch.on_phase("rollout", 8)
        watch.on_progress(RolloutProgress(in_flight=8, tokens_per_second=10.0, success=None))
    line = next(line for line in screen.getvalue().splitlines() if "in flight" in line)
    assert line.rstrip().endswith("8 in flight, 10 tokens/s")


def test_a_long_phase_prints_the_remaining_time_to_a_file_once_a_minute() -> None:
    kept = io.StringIO()
    # started, the phase, four units of demonstrations; the clock is read once more for each line that is printed
    times = iter([100.0, 130.0, 160.0, 160.0, 190.0, 220.0, 220.0])
    with TrainingView(Console(file=kept, width=140), updates=3, clock=times.__next__) as watch:
        watch.on_phase("demonstrate", 8)
        for _ in range(4):
            watch.on_advance(1)
    # 2 of 8 in 60 s: 6 more take 180 s. 4 of 8 in 120 s: 4 more take 120 s.
    assert kept.getvalue().splitlines() == ["demonstrate: 2 of 8, 3:00 left", "demonstrate: 4 of 8, 2:00 left"]
