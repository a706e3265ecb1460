"""What a training run leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cairn.agents.report import Report


@dataclass(frozen=True)
class Run:
    """A run, finished or stopped."""

    folder: Path
    reports: Mapping[int, Report]  # by number of updates done
    is_finished: bool = True  # else it was interrupted, and goes on from its checkpoint

    @property
    def final(self) -> Report:
        """The last evaluation."""
        return self.reports[max(self.reports)]

    @property
    def checkpoint(self) -> Path:
        """The newest checkpoint, which transformers loads as is."""
        return max((self.folder / "checkpoints").glob("update-*"))


def versions() -> dict[str, str]:
    """Return versions of what results depend on."""
    return {
        name: metadata.version(name)
        for name in ("cairn-rl", "torch", "transformers", "tokenizers", "numpy", "gymnasium")
    }
