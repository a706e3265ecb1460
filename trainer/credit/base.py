"""What a credit module exports: a configuration and a function from a table to one advantage a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from cairn.core.config import Config
from cairn.core.table import Flags, Floats, StepTable

C = TypeVar("C", bound=Config)
Property = Literal[
    "scoped",  # an advantage depends on its own group only
    "no spread",  # episodes that are all alike have no advantage
    "lone",  # a group of one episode that never comes back to a state has no advantage
    "shift",  # adding a constant to every one-step score changes nothing
    "better",  # of two one-step episodes from one state, the better has the greater advantage, above and below 0
]

Assumption = Literal[
    "a terminal reward",  # no turn but an episode's last earns one; where others do, the update may point the wrong way
    "scores of 0 or more",  # an episode's sum of rewards
]


def _nothing(_: Config) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Credit(Generic[C]):
    """One method. `compute` returns float64 [N] in the table's own row order."""

    config: type[C]
    compute: Callable[[StepTable, C], Floats]
    width: Callable[[StepTable, C], Floats] | None = None  # standard deviation of each advantage, where it has one
    reads_past: bool = False  # whether it tells rows of earlier updates from present ones
    needs: tuple[str, ...] = ()  # optional columns of the table that it cannot compute without
    needs_in_training: tuple[str, ...] = ()  # without these columns it is another method: a run is refused
    channels: Callable[[C], Collection[str]] = _nothing  # channels that its settings name
    parts: Callable[[C], Collection[str]] = _nothing  # channels that its settings take for parts of the reward
    assumes: tuple[Assumption, ...] = ()  # of the environment; a run in one of which it is false is refused
    learned: Callable[[StepTable, C], Flags] | None = (
        None  # [N] rows that count in the loss; None: all that are trained
    )
    violates: Mapping[Property, str] = field(
        default_factory=dict
    )  # properties that it does not have, and why; others are tested
