"""Which turns of an episode a prompt shows; every context uses the same names.

=========  ===========================================================================================================
full       every turn
window     the last `history` turns; with a `stride`, up to ``history + stride - 1``, so that prompts rarely restart
markovian  none: the task and the current observation
summary    the last `history` turns, and the model's own summary of those before
=========  ===========================================================================================================
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from cairn.core.config import Config
from cairn.core.errors import ConfigError

Policy = Literal["full", "window", "markovian", "summary"]

_KEPT = 2  # default number of turns shown with a summary


class MemoryConfig(Config):
    """How much of an episode is kept."""

    memory: Policy | None = Field(
        None,
        description="full: all turns; window: the last `history`; markovian: the task and the present observation; "
        "summary: the model's summary of the oldest turns, and the last `history`. None: window where `history` is "
        "set, else full.",
    )
    history: int | None = Field(
        None, ge=0, description="Earlier turns at the restart of a prompt. None: all; with a summary, 2."
    )
    stride: int = Field(1, ge=1, description="With a window: turns between two restarts of the prompt.")
    remind: str | None = Field(
        None,
        min_length=1,
        description="What leads up to the task in an episode's first text: where that text is not shown any more, the "
        "rest of that line stands for it. None: the whole first text does.",
    )

    @property
    def policy(self) -> Policy:
        """Which turns are shown."""
        return self.memory or ("full" if self.history is None else "window")

    @property
    def kept(self) -> int | None:
        """Number of earlier turns in a restarted prompt; None: prompts never restart."""
        kept = {"full": None, "window": self.history, "markovian": 0, "summary": self.history}[self.policy]
        return _KEPT if self.policy == "summary" and kept is None else kept

    @model_validator(mode="after")
    def _check_memory(self) -> MemoryConfig:
        if self.policy == "window" and self.history is None:
            raise ValueError("memory = 'window' needs a history: how many turns")
        if (self.memory == "full" and self.history is not None) or (self.memory == "markovian" and self.history):
            raise ValueError(f"memory = {self.memory!r} takes no history; leave it out, or choose 'window'")
        if self.policy != "window" and self.stride > 1:
            raise ValueError("stride needs a history: without a window no prompt restarts")
        return self


def task_in(text: str, mark: str, where: str) -> str:
    """Return the task in an episode's first text: the rest of the line after `mark`.

    Raises:
        ConfigError: it is not there; `where` is the setting with the mark.
    """
    task = text.partition(mark)[2].partition("\n")[0].strip()
    if not task:
        raise ConfigError(f"{where}: {mark!r} and a task after it are not in the episode's first text: {text[:200]!r}")
    return task
