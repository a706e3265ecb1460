"""The interface of a credit method: its declarations, and the estimator that it makes from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar, runtime_checkable

from cairn.core.config import Config
from cairn.core.plugins import Plugin
from cairn.core.table import Flags, Floats, StepTable

C = TypeVar("C", bound=Config)
Property = Literal[
    "scoped",  # an advantage depends on its own group only
    "no spread",  # equal episodes have an advantage of 0
    "lone",  # a group of one episode that never returns to a state has an advantage of 0
    "shift",  # adding a constant to every one-step score changes no advantage
    "better",  # of two one-step episodes from one state, the better has an advantage above 0, the worse below 0
]

Assumption = Literal[
    "a terminal reward",  # only an episode's last turn earns a reward; otherwise updates may point the wrong way
    "scores of 0 or more",  # an episode's sum of rewards
]


def _nothing(_: Config) -> tuple[str, ...]:
    return ()


class Estimator(Protocol):
    """A credit method with its settings."""

    def __call__(self, table: StepTable, /) -> Floats:
        """Return one advantage per row, float64 [N], in the table's own order."""


@runtime_checkable
class DropsRows(Protocol):
    """An estimator that leaves rows out of the loss and its normaliser."""

    def learned(self, table: StepTable) -> Flags:
        """Return whether each row counts in the loss, bool [N]."""


@runtime_checkable
class HasStd(Protocol):
    """An estimator that knows how uncertain its advantages are."""

    def std(self, table: StepTable) -> Floats:
        """Return the standard deviation of each advantage, float64 [N]."""


@dataclass(frozen=True)
class Credit(Plugin[C]):
    """A credit method: ``make(config)`` returns an `Estimator`, once a run."""

    reads_past: bool = False  # whether it distinguishes rows of earlier updates from current ones
    needs: tuple[str, ...] = ()  # optional columns that `compute` requires
    needs_in_training: tuple[str, ...] = ()  # columns without which it is another method: training is refused
    channels: Callable[[C], Collection[str]] = _nothing  # channels named in its settings
    parts: Callable[[C], Collection[str]] = _nothing  # channels that its settings use as parts of the reward
    assumes: tuple[Assumption, ...] = ()  # assumptions about the environment; training is refused if one is false
    violates: Mapping[Property, str] = field(
        default_factory=dict
    )  # properties that it does not have, with reasons; all others are tested
