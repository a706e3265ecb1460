"""How many tokens are computed at once, and what happens when the GPU's memory does not hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from cairn.core.errors import CairnError

T = TypeVar("T")


class TokenBudget:
    """Tokens of a micro-batch; halved once for the rest of the run when memory runs out, and no further."""

    def __init__(self, tokens: int, can_halve: bool, on_note: Callable[[str], None]) -> None:
        self.tokens = tokens
        self.halvings = 0
        self._can_halve = can_halve
        self._on_note = on_note

    def retry_on_oom(self, compute: Callable[[], T], clear: Callable[[], None]) -> T:
        """Return what `compute` does; if memory runs out, `clear` what it left and compute again with half the tokens.

        Raises:
            CairnError: memory ran out once more, or where the tokens cannot be halved.
        """
        try:
            return compute()
        except torch.OutOfMemoryError as error:
            reason = str(error)  # beyond this block the error is gone, and the tensors that its traceback held
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
        """Return the error that says what can be changed."""
        return CairnError(
            f"The GPU ran out of memory with micro-batches of at most {self.tokens} tokens: lower "
            "learner.micro_batch_tokens, set learner.checkpointing, or train adapters with model.lora "
            f"({reason.splitlines()[0] if reason else 'no details'})"
        )
