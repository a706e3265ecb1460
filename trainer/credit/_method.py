"""What a credit module exports: a configuration and a function from a table to one advantage a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cairn.core.config import Config
from cairn.core.table import Floats, StepTable

C = TypeVar("C", bound=Config)


@dataclass(frozen=True)
class Credit(Generic[C]):
    """One method. `compute` returns float64 [N] in the table's own row order."""

    config: type[C]
    compute: Callable[[StepTable, C], Floats]
