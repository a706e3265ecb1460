"""Detects signs of a policy's collapse in a run's metrics, and selects the action.

A sign is a function of the metrics of all updates so far, so that a resumed run detects the same signs as an
undisturbed one. A lasting sign is reported once. This module changes no weights: the training loop stops or rolls back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError

Action = Literal["off", "warn", "stop", "roll back"]
Series = Callable[[str], Sequence[float]]  # a metric's values, oldest first

_SOME = 5  # minimum number of updates for a usual value


class GuardConfig(Config):
    """The signs of collapse, and the action on each."""

    entropy: Action = Field("warn", description="The policy has all but stopped to choose.")
    min_entropy: float = Field(0.01, ge=0, description="Nats a decided token, over an update, that are too few.")
    length: Action = Field("warn", description="Replies become much longer or shorter than they were.")
    max_length_change: float = Field(4.0, gt=1, description="Times the usual tokens a reply, or one in as many.")
    validity: Action = Field("warn", description="Replies lose the format that is asked for.")
    max_invalid: float = Field(0.5, gt=0, le=1, description="Share of replies without it that is too much.")
    spread: Action = Field("warn", description="No group has episodes that differ in return, and few succeed.")
    max_zero_spread: float = Field(1.0, gt=0, le=1, description="Share of groups without spread that is too much.")
    spikes: Action = Field("warn", description="The loss or the gradient leaps.")
    max_deviations: float = Field(
        20.0, gt=0, description="How far from the usual value, in (scaled median absolute) deviations."
    )
    patience: int = Field(3, ge=1, description="Updates in a row that show a sign (spikes: one) before it counts.")
    window: int = Field(20, ge=_SOME, description="Updates before these that are usual.")
    max_rollbacks: int = Field(3, ge=0, description="Times a run goes back before it stops.")
    rollback_rate: float = Field(0.5, gt=0, le=1, description="Learning rates are multiplied by this each time.")


@dataclass(frozen=True)
class Alert:
    """A sign that the newest update shows for the first time."""

    guard: str
    action: Action
    what: str  # message for users


class PolicyCollapse(CairnError):  # noqa: N818  (callers catch it by name)
    """The policy is collapsing, and the configured action is to stop or to roll back."""

    def __init__(self, update: int, alarm: Alert) -> None:
        self.update, self.alarm = update, alarm
        super().__init__(f"after update {update}: {alarm.what} (guards.{alarm.guard} = {alarm.action!r})")


def alerts(config: GuardConfig, series: Series) -> list[Alert]:
    """Return the signs that the newest update shows and the preceding one did not."""
    out = []
    for guard, sign in _SIGNS.items():
        action: Action = getattr(config, guard)
        if action == "off" or (what := sign(config, series)) is None:
            continue
        if sign(config, lambda name: series(name)[:-1]) is None:
            out.append(Alert(guard, action, what))
    return out


def _entropy(config: GuardConfig, series: Series) -> str | None:
    low = _last(series("entropy"), config.patience)
    if low is None or max(low) >= config.min_entropy:
        return None
    return f"entropy is {low[-1]:.4f} nats a token, below guards.min_entropy for {config.patience} updates"


def _length(config: GuardConfig, series: Series) -> str | None:
    values = series("reply_tokens")
    now, usual = _last(values, config.patience), _usual(values, config.patience, config.window)
    if now is None or usual is None or np.median(usual) == 0:
        return None
    change = np.array(now) / np.median(usual)
    if not ((change > config.max_length_change).all() or (change < 1 / config.max_length_change).all()):
        return None
    return f"replies have {now[-1]:.1f} tokens, where {np.median(usual):.1f} were usual"


def _validity(config: GuardConfig, series: Series) -> str | None:
    invalid = _last(series("invalid"), config.patience)
    if invalid is None or min(invalid) < config.max_invalid:
        return None
    return f"{invalid[-1]:.0%} of replies lack the format that is asked for"


def _spread(config: GuardConfig, series: Series) -> str | None:
    alike, success = _last(series("zero_spread"), config.patience), _last(series("success"), config.patience)
    if alike is None or success is None or min(alike) < config.max_zero_spread or max(success) >= 0.5:
        return None
    return f"{alike[-1]:.0%} of groups have no spread in return, with {success[-1]:.0%} success: nothing to learn from"


def _spikes(config: GuardConfig, series: Series) -> str | None:
    """Return a message for a spike of loss or gradient norm.

    The robust score is |x - median| / (1.4826 median |x - median|), over the updates of the window.
    """
    for name in ("loss", "grad_norm"):
        values = series(name)
        usual = _usual(values, 1, config.window)
        if usual is None:
            continue
        middle = float(np.median(usual))
        deviation = 1.4826 * float(np.median(np.abs(np.array(usual) - middle)))
        far = abs(values[-1] - middle)
        if deviation > 0 and far > config.max_deviations * deviation:
            return f"{name} is {values[-1]:.3g}, {far / deviation:.0f} deviations from the usual {middle:.3g}"
    return None


class CollapseDetector:
    """Collects the guards' metrics, update by update, and checks them."""

    def __init__(self, config: GuardConfig, stored: Callable[[str], Sequence[tuple[int, float]]]) -> None:
        """`stored` returns the (update, value) pairs of a metric so far, by update."""
        self._config = config
        self._seen = {name: list(stored(name)) for name in _METRICS}

    def check(self, update: int, metrics: Mapping[str, float]) -> list[Alert]:
        """Record an update and return the signs that it shows and the preceding one did not."""
        for name, seen in self._seen.items():
            if name in metrics:
                seen.append((update, metrics[name]))

        def series(name: str) -> list[float]:
            seen = self._seen[name]
            return [value for _, value in seen] if seen and seen[-1][0] == update else []

        return alerts(self._config, series)


_METRICS = ("entropy", "reply_tokens", "invalid", "zero_spread", "success", "loss", "grad_norm")
_SIGNS: dict[str, Callable[[GuardConfig, Series], str | None]] = {
    "entropy": _entropy,
    "length": _length,
    "validity": _validity,
    "spread": _spread,
    "spikes": _spikes,
}


def _last(values: Sequence[float], count: int) -> list[float] | None:
    """Return the newest `count` values; None if there are fewer."""
    return list(values[-count:]) if len(values) >= count else None


def _usual(values: Sequence[float], newest: int, window: int) -> list[float] | None:
    """Return the values of a window before the newest ones; None if there are too few."""
    before = list(values[:-newest][-window:])
    return before if len(before) >= _SOME else None
