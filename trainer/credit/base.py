"""The interface of a credit module: its configuration and its `compute` function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from cairn.core.config import Config
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


@dataclass(frozen=True)
class Credit(Generic[C]):
    """One credit method. `compute` returns float64 [N] in the table's own row order."""

    config: type[C]
    compute: Callable[[StepTable, C], Floats]
    width: Callable[[StepTable, C], Floats] | None = None  # standard deviation of each advantage, if defined
    reads_past: bool = False  # whether it distinguishes rows of earlier updates from current ones
    needs: tuple[str, ...] = ()  # optional columns that `compute` requires
    needs_in_training: tuple[str, ...] = ()  # columns without which it is another method: training is refused
    channels: Callable[[C], Collection[str]] = _nothing  # channels named in its settings
    parts: Callable[[C], Collection[str]] = _nothing  # channels that its settings use as parts of the reward
    assumes: tuple[Assumption, ...] = ()  # assumptions about the environment; training is refused if one is false
    learned: Callable[[StepTable, C], Flags] | None = None  # [N] rows that count in the loss; None: all trained rows
    violates: Mapping[Property, str] = field(
        default_factory=dict
    )  # properties that it does not have, with reasons; all others are tested
