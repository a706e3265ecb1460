"""The number of tokens of a micro-batch, and the reaction to a full GPU memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from cairn.core.errors import CairnError

T = TypeVar("T")


class TokenBudget:
    """The tokens of a micro-batch; halved at most once in a run, when memory runs out."""

    def __init__(self, tokens: int, can_halve: bool, on_note: Callable[[str], None]) -> None:
        self.tokens = tokens
        self.halvings = 0
        self._can_halve = can_halve
        self._on_note = on_note

    def retry_on_oom(self, compute: Callable[[], T], clear: Callable[[], None]) -> T:
        """Return the result of `compute`; if memory runs out, retry it with half the tokens.

        Raises:
            CairnError: memory ran out again, or the tokens cannot be halved.
        """
        try:
            return compute()
        except torch.OutOfMemoryError as error:
            reason = str(error)  # after this block the error is freed, with the tensors in its traceback
        clear()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if self.halvings or not self._can_halve:
            raise self.exceeded(reason)
        self.halvings += 1
        self.tokens = max(self.tokens // 2, 1)
        self._on_note(
            f"the GPU ran out of memory: micro-batches have at most {self.tokens} tokens from now on; set "
            "learner.micro_batch_tokens to this to begin with it"
        )
        return self.retry_on_oom(compute, clear)

    def exceeded(self, reason: str) -> CairnError:
        """Return the error that lists the settings to change."""
        return CairnError(
            f"The GPU ran out of memory with micro-batches of at most {self.tokens} tokens: lower "
            "learner.micro_batch_tokens, set learner.checkpointing, or train adapters with model.lora "
            f"({reason.splitlines()[0] if reason else 'no details'})"
        )
