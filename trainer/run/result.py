"""The result of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from shlex import quote

from cairn.agents.evaluation.report import Report
from cairn.core.errors import CairnError


@dataclass(frozen=True)
class Run:
    """A finished or stopped run."""

    folder: Path
    reports: Mapping[int, Report]  # by number of completed updates
    is_finished: bool = True  # else it was interrupted and can resume from its checkpoint

    @property
    def final(self) -> Report:
        """The last evaluation.

        Raises:
            CairnError: the run was interrupted before its first evaluation.
        """
        if not self.reports:
            raise CairnError(
                f"The run in {str(self.folder)!r} was interrupted before its first evaluation. Continue it: "
                f"cairn train --resume {quote(str(self.folder))}"
            )
        return self.reports[max(self.reports)]

    @property
    def has_checkpoint(self) -> bool:
        """Whether a checkpoint exists."""
        return any((self.folder / "checkpoints").glob("update-*"))

    @property
    def checkpoint(self) -> Path:
        """The newest checkpoint, which transformers can load.

        Raises:
            CairnError: the run was interrupted before its first checkpoint.
        """
        if not self.has_checkpoint:
            raise CairnError(f"The run in {str(self.folder)!r} has no checkpoint yet: it was interrupted early")
        return max((self.folder / "checkpoints").glob("update-*"))


def versions() -> dict[str, str]:
    """Return versions of the packages that affect results."""
    return {
        name: metadata.version(name)
        for name in ("cairn-rl", "torch", "transformers", "tokenizers", "numpy", "gymnasium")
    }
