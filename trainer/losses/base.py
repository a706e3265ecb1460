"""The interface of a loss module: its configuration and its `compute` function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from cairn.core.config import Config

C = TypeVar("C", bound=Config)


@dataclass(frozen=True)
class Loss(Generic[C]):
    """A loss: its configuration and its function.

    `compute(logprobs_D, old_logprobs_D, advantages_D, config)` returns loss_D and is_clipped_D.
    """

    config: type[C]
    compute: Callable[[Tensor, Tensor, Tensor, C], tuple[Tensor, Tensor]]
