"""A run's metrics for TensorBoard: ``tensorboard --logdir runs``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from cairn.agents.report import Report
from cairn.trainer.listener import Listener, Pulse


class TensorBoard(Listener):
    """Writes event files under the run's folder and passes everything on to another listener."""

    def __init__(self, folder: Path, then: Listener) -> None:
        self._writer = SummaryWriter(str(folder / "tensorboard"))
        self._then = then

    def started(self, folder: Path, facts: Mapping[str, str]) -> None:
        """Pass it on."""
        self._then.started(folder, facts)

    def phase(self, name: str, total: int) -> None:
        """Pass it on."""
        self._then.phase(name, total)

    def advanced(self, count: int) -> None:
        """Pass it on."""
        self._then.advanced(count)

    def pulsed(self, pulse: Pulse) -> None:
        """Pass it on."""
        self._then.pulsed(pulse)

    def noted(self, text: str) -> None:
        """Pass it on."""
        self._then.noted(text)

    def imitated(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Write the pass's metrics."""
        self._write("imitation", epoch, metrics)
        self._then.imitated(epoch, metrics)

    def updated(self, update: int, metrics: Mapping[str, float]) -> None:
        """Write the update's metrics."""
        self._write("train", update, metrics)
        self._then.updated(update, metrics)

    def evaluated(self, update: int, report: Report) -> None:
        """Write success in all and by task type."""
        rates = {"success": report.success.share, **{f"success/{k}": rate.share for k, rate in report.by_type.items()}}
        self._write("eval", update, {**rates, "turns": report.mean_turns})
        self._then.evaluated(update, report)

    def _write(self, group: str, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(f"{group}/{name}", value, step)
        self._writer.flush()
