"""Display of a training run: a live table in a terminal, one line per update elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from cairn.agents.evaluation.report import Report
from cairn.cli._shared.progress import time_left
from cairn.trainer.callbacks import Callback, RolloutProgress

_COLUMNS = (
    ("success", "success", "{:.0%}"),
    ("return", "return", "{:.2f}"),
    ("turns", "turns", "{:.1f}"),
    ("entropy", "entropy", "{:.2f}"),
    ("kl", "KL", "{:z.4f}"),
    ("anchor_coverage", "anchors shared", "{:.0%}"),
    ("zero_spread", "no spread", "{:.0%}"),
    ("tokens_per_second", "tokens/s", "{:,.0f}"),
    ("staleness/mean", "stale", "{:.1f}"),
)
_ROWS = 12  # newest updates on screen
_LINE_S = 60.0  # seconds between lines about a phase, outside a terminal


class TrainingView(Callback):
    """Prints a run's progress; use as a context manager."""

    def __init__(self, console: Console, updates: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._updates = updates
        self._rows: list[tuple[str, ...]] = []
        self._began = 0.0
        self._first_update = 0
        self._clock = clock
        self._phase, self._phase_began, self._line_printed = "", 0.0, 0.0
        self._progress = Progress(
            TextColumn("{task.description:>12}"),
            BarColumn(30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[pulse]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=1, pulse="")
        self._live = (
            Live(get_renderable=self._screen, console=console, refresh_per_second=4) if console.is_terminal else None
        )

    def __enter__(self) -> TrainingView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def on_start(self, folder: Path, facts: Mapping[str, str]) -> None:
        """Print the run's facts; in a comparison of many runs, each starts a new table."""
        self._rows, self._began = [], 0.0
        self._print(f"run {folder}")
        for name, value in facts.items():
            self._print(f"  {name:<12} {value}")

    def on_phase(self, name: str, total: int) -> None:
        """Start the phase's bar."""
        self._progress.reset(self._task, total=total, description=name, pulse="")
        self._phase, self._phase_began = name, self._clock()
        self._line_printed = self._phase_began

    def on_advance(self, count: int) -> None:
        """Advance the bar; outside a terminal, print a line per minute."""
        self._progress.advance(self._task, count)
        self._print_line()

    def on_progress(self, pulse: RolloutProgress) -> None:
        """Show the progress beside the bar, or in the line."""
        parts = [f"{pulse.in_flight} in flight", f"{pulse.tokens_per_second:,.0f} tokens/s"]
        if pulse.success is not None:
            parts.append(f"success {pulse.success:.0%}")
        if pulse.staleness is not None:
            parts.append(f"{pulse.staleness:.1f} updates behind")
        self._progress.update(self._task, pulse=", ".join(parts))
        self._print_line()

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Print how well the warm start fits its demonstrations."""
        self._progress.advance(self._task, 1)
        self._print(f"warm start, pass {epoch}: loss {metrics['loss']:.3f} nats a decision")

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        """Add a row."""
        if not self._began:
            self._began, self._first_update = self._clock(), update
        # An update whose advantages are all 0 has no gradient, so neither entropy nor KL were computed.
        cells = [form.format(metrics[name]) if name in metrics else "-" for name, _, form in _COLUMNS]
        self._rows.append((f"{update}/{self._updates}", *cells, self._time_left(update)))
        if self._live is None:
            titles = [title for _, title, _ in _COLUMNS]
            named = ", ".join(f"{title} {cell}" for title, cell in zip(titles, cells, strict=True))
            self._print(f"update {update}/{self._updates}: {named}, {self._rows[-1][-1]} left")

    def on_evaluation(self, update: int, report: Report) -> None:
        """Print the success on the evaluation's tasks."""
        self._print(f"success on {report.tasks} {report.success} after {update} updates")

    def on_note(self, text: str) -> None:
        """Print a remark."""
        self._print(f"note: {text}")

    def _print_line(self) -> None:
        if self._live is not None or self._clock() - self._line_printed < _LINE_S:
            return
        self._line_printed = self._clock()
        task = self._progress.tasks[0]
        done, total = int(task.completed), int(task.total or 0)
        left = time_left(done, total, self._line_printed - self._phase_began)
        pulse = f", {task.fields['pulse']}" if task.fields["pulse"] else ""
        self._print(f"{self._phase}: {done:,} of {total:,}, {left} left{pulse}")

    def _screen(self) -> Group:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for title in ("update", *(title for _, title, _ in _COLUMNS), "time left"):
            table.add_column(title, justify="right")
        for row in self._rows[-_ROWS:]:
            table.add_row(*map(Text, row))
        return Group(table, self._progress)

    def _time_left(self, update: int) -> str:
        done = update - self._first_update
        return time_left(done, self._updates - self._first_update, self._clock() - self._began)

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)  # no wrapping in a log
