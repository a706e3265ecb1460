"""Turn limits of an episode: a fixed number, or fewer turns with extensions for progress.

After "Turn control strategies for coding agents" (arXiv 2510.16786). `fixed` cuts at a percentile of the lengths of
episodes without a limit, 75 by default. `dynamic` begins with fewer turns and extends an episode that has not
submitted, once or more, if something changed in the last turns. The definition of progress and the numbers are Cairn's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config


class HorizonConfig(Config):
    """Settings of the turn limit."""

    control: Literal["fixed", "dynamic"] = Field("fixed", description="Whether more turns may be given.")
    extension: int = Field(5, ge=1, description="Dynamic: turns that an extension gives.")
    most_extensions: int = Field(1, ge=0, description="Dynamic: how many there may be in an episode.")
    window: int = Field(3, ge=1, description="Dynamic: turns of which one must have changed something.")
    notices: bool = Field(False, description="Say at every turn how many are left.")


class Horizon:
    """Counts the turns of one episode and extends its limit."""

    def __init__(self, config: HorizonConfig, limit: int) -> None:
        """Start a count; `limit`: the first turn limit."""
        self._config, self.limit = config, limit
        self._extensions = 0
        self._changes: list[bool] = []

    def took(self, *, changed: bool) -> str:
        """Count a turn and return a notice for the agent; `changed`: the turn led to a new state.

        The last turn extends the limit if the settings allow it.
        """
        self._changes.append(changed)
        used, gained = len(self._changes), ""
        if used >= self.limit and self._may_extend():
            self._extensions += 1
            self.limit += self._config.extension
            gained = f"You get {self._config.extension} more turns. "
        left = self.limit - used
        if not gained and not self._config.notices:
            return ""
        return f"[{gained}{left} {'turn is' if left == 1 else 'turns are'} left{', submit now' * (left == 1)}.]"

    @property
    def has_ended(self) -> bool:
        """Whether no turn is left."""
        return len(self._changes) >= self.limit

    def _may_extend(self) -> bool:
        config = self._config
        if config.control != "dynamic" or self._extensions >= config.most_extensions:
            return False
        return any(self._changes[-config.window :])


def calibrated(lengths: Sequence[int], percentile: float = 75.0) -> int:
    """Return the smallest limit that `percentile` per cent of episodes do not exceed.

    `lengths`: turns of episodes that ran without a limit.

    Raises:
        ValueError: `lengths` is empty.
    """
    if not lengths:
        raise ValueError("A limit is calibrated on at least one episode, got none")
    return int(np.percentile(np.asarray(lengths), percentile, method="higher"))
