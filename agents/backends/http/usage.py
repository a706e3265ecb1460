"""Counts a server's token usage: tokens, requests, retries, waiting time and cost.

Only complete replies are counted, although the server may charge for an attempt that timed out.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields, replace
from typing import Protocol, runtime_checkable

from cairn.core.records import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Totals so far."""

    prompt_tokens: int = 0  # cached ones included
    cached_tokens: int = 0  # prompt tokens that were in the server's cache
    completion_tokens: int = 0
    requests: int = 0  # sent, retries included
    replies: int = 0  # complete replies
    unreported: int = 0  # replies without a count of tokens
    retries: int = 0
    failures: int = 0  # replies without success after all attempts
    waited_s: float = 0.0  # for limits and between attempts, summed over requests
    cost: float | None = None  # None: no prices are given

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Return the sum of both; the cost is known only if both costs are."""
        total = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        costs = (self.cost, other.cost)
        return TokenUsage(**total, cost=None if None in costs else sum(cost or 0.0 for cost in costs))

    def __str__(self) -> str:
        """Return a one-line summary."""
        cost = "" if self.cost is None else f", cost {self.cost:.4f}"
        return (
            f"{self.requests} requests ({self.retries} retries, {self.failures} given up), "
            f"{self.waited_s:.1f} s waited, "
            f"{self.prompt_tokens} prompt tokens ({self.cached_tokens} cached), "
            f"{self.completion_tokens} completion tokens{cost}"
        )


_COUNTS = tuple(field.name for field in fields(TokenUsage) if field.name != "cost")


@runtime_checkable
class Metered(Protocol):
    """A back end that counts its requests to a server."""

    @property
    def usage(self) -> TokenUsage:
        """Totals so far."""


class Tally:
    """Thread-safe usage counter."""

    def __init__(self, prompt: float, cached: float, completion: float, *, is_priced: bool) -> None:
        """Start at zero; prices are per million tokens."""
        self._prices = (prompt, cached, completion)
        self._lock = threading.Lock()
        self._total = TokenUsage(cost=0.0 if is_priced else None)

    @property
    def total(self) -> TokenUsage:
        """Totals so far."""
        with self._lock:
            return self._total

    def add(self, *, requests: int = 0, retries: int = 0, failures: int = 0, waited_s: float = 0.0) -> None:
        """Add requests, retries, failures and waiting time."""
        with self._lock:
            old = self._total
            self._total = replace(
                old,
                requests=old.requests + requests,
                retries=old.retries + retries,
                failures=old.failures + failures,
                waited_s=old.waited_s + waited_s,
            )

    def priced(self, prompt: int, cached: int, completion: int) -> Tokens:
        """Return the tokens and cost of a reply; see `reply`."""
        per_prompt, per_cached, per_completion = self._prices
        cost = ((prompt - cached) * per_prompt + cached * per_cached + completion * per_completion) / 1e6
        is_priced = self.total.cost is not None
        return Tokens(prompt=prompt, cached=cached, reply=completion, cost=cost if is_priced else None)

    def reply(self, tokens: tuple[int, int, int] | None) -> None:
        """Add a reply and its token counts: prompt, cached prompt, completion; None: not reported."""
        took = self.priced(*(tokens or (0, 0, 0)))
        with self._lock:
            old = self._total
            self._total = replace(
                old,
                prompt_tokens=old.prompt_tokens + took.prompt,
                cached_tokens=old.cached_tokens + took.cached,
                completion_tokens=old.completion_tokens + took.reply,
                replies=old.replies + 1,
                unreported=old.unreported + (tokens is None),
                cost=None if old.cost is None or took.cost is None else old.cost + took.cost,
            )


def tokens_of(body: object) -> tuple[int, int, int] | None:
    """Return a reply's tokens as `Tally.reply` takes them; None: missing or invalid."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    found = usage.get("prompt_tokens"), cached or 0, usage.get("completion_tokens", 0)
    if not all(type(count) is int and count >= 0 for count in found):
        return None
    prompt, of_these, completion = map(int, found)
    return prompt, min(of_these, prompt), completion
