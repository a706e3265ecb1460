"""Progress of long work: a bar that disappears in a terminal, rare lines elsewhere; answers stay whole."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cairn.cli._shared.progress import LINE_S, progress, time_left
from cairn.cli.main import app


def ticks(*at: float) -> Callable[[], float]:
    """Return a clock that says these times, one after another."""
    return iter(at).__next__


def test_progress_to_a_file_prints_a_line_every_ten_seconds() -> None:
    kept = io.StringIO()
    clock = ticks(100.0, 104.0, 110.0, 112.0, 125.0)  # the beginning, then one unit each
    with progress("[x] tasks", 8, console=Console(file=kept, width=40), clock=clock) as advance:
        for unit in range(4):
            advance(f"unit {unit}")
    assert LINE_S == 10
    # After 10 s 2 of 8 are done: 6 more take 30 s. After 25 s 4 of 8 are: 4 more take 25 s.
    assert kept.getvalue() == "[x] tasks: 2 of 8, 0:30 left: unit 1\n[x] tasks: 4 of 8, 0:25 left: unit 3\n"


def test_without_a_total_no_remaining_time_is_shown() -> None:
    kept = io.StringIO()
    with progress("looking", console=Console(file=kept), clock=ticks(0.0, 11.0)) as advance:
        advance()
    assert kept.getvalue() == "looking: 1\n"


def test_the_total_may_change_later() -> None:
    kept, screen = io.StringIO(), io.StringIO()
    terminal = Console(file=screen, force_terminal=True, color_system=None, width=100)
    with progress("tasks", 500, console=Console(file=kept), clock=ticks(0.0, 10.0)) as advance:
        advance.expect(100)
        advance()
    assert kept.getvalue() == "tasks: 1 of 100, 16:30 left\n"  # 99 times 10 s
    with progress("tasks", 500, console=terminal) as advance:
        advance.expect(100)
        advance()
    assert "1/100" in screen.getvalue()


def test_quick_work_prints_no_progress_to_a_file() -> None:
    kept = io.StringIO()
    with progress("tasks", 2, console=Console(file=kept), clock=ticks(0.0, 4.0, 9.0)) as advance:
        advance()
        advance()
    assert kept.getvalue() == ""


@pytest.mark.parametrize("total", [2, None])
def test_in_a_terminal_there_is_a_bar_that_goes_away(total: int | None) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=100)
    with progress("[red]tasks", total, console=console) as advance:
        advance("[bold]first")
    shown = screen.getvalue()
    assert "[red]tasks" in shown
    assert "[bold]first" in shown
    assert ("1/2" in shown) == (total is not None)
    assert shown.endswith("\x1b[2K")  # the last thing done is to clear its line


@pytest.mark.parametrize(
    ("done", "total", "seconds", "reported"),
    [(0, 5, 9.0, "?"), (3, None, 9.0, "?"), (1, 2, 59.6, "1:00"), (1, 3, 3600.0, "2:00:00"), (5, 5, 9.0, "0:00")],
)
def test_the_time_left(done: int, total: int | None, seconds: float, reported: str) -> None:
    assert time_left(done, total, seconds) == reported


def test_standard_output_has_the_answer_alone() -> None:
    done = CliRunner().invoke(app, ["eval", "examples.doors:Doors", "--tasks", "2", "--json"])
    assert done.exit_code == 0
    assert done.stdout.startswith("{")
