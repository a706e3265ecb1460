"""TensorBoard: event files in the run's folder for ``tensorboard --logdir runs``."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.plugins import Plugin
from cairn.trainer.trackers.base import TrackedRun, Tracker, TrackerConfig


class TensorBoardConfig(TrackerConfig):
    """Settings of TensorBoard."""


class TensorBoard(Tracker):
    """Writes to ``tensorboard/`` under the run's folder."""

    def __init__(self, config: TensorBoardConfig, run: TrackedRun) -> None:
        self._run = run

    def open(self) -> None:
        """Write the run's folder, configuration and versions as text."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self._run.folder / "tensorboard"))
        self._writer.add_text("run/folder", f"[{self._run.name}]({self._run.link})")
        self._writer.add_text("run/config", _table(self._run.settings))
        self._writer.add_text("run/versions", _table(self._run.versions))

    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        """Write scalars and flush them."""
        for name, value in metrics.items():
            self._writer.add_scalar(f"{phase}/{name}", value, step)
        self._writer.flush()

    def close(self, *, has_failed: bool) -> None:
        """Close the file."""
        self._writer.close()


def _table(values: Mapping[str, str]) -> str:
    """Return a Markdown table; values are code, so that they are not parsed as markup."""
    cells = (f"| `{name}` | `{value.replace('|', '/').replace('`', ' ')}` |" for name, value in values.items())
    return "\n".join(["| name | value |", "|---|---|", *(cell.replace("\n", " ") for cell in cells)])


TRACKER = Plugin(TensorBoardConfig, TensorBoard)
