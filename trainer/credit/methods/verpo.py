"""VeRPO: credit for passed unit tests, higher for hard and rare ones, and outcome term.

::

    rho_j   = share of the group's turns that pass test j
    N_j     = sum_k exp(-(rho_j - rho_k)^2 / (2 sigma^2))
    w_j     = exp(-alpha rho_j) / (N_j + delta)
    R_{i,t} = sum_j w_j [turn t passes test j]
    A_{i,t} = (score_i gamma^T_i - mean over the group's episodes) + beta (R_{i,t} - mean over the group's turns)

T_i: the episode's number of turns. Each channel of `tests` is one test, 1 if it passed at that turn, else 0; a test
that was not run at a turn counts as not passed. Parts of the reward do not count as tests. `reward` holds the outcome.
Averaging units: as in the formulas. No division by a deviation, which would cancel the weights. Degenerate cases: a
test that all turns pass, or none, has a finite weight and no effect; a group of one has no first term, and its turns
are compared with each other; a test without a value in a group belongs to another task and is ignored there.
Source: 2601.03525, known from notes on its equations: alpha, sigma, delta, beta and gamma are placeholders. Departures:
none known. Cost: O(J^2) per group for J tests.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError
from cairn.core.plugins import from_function
from cairn.core.records import TESTS
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class VeRPOConfig(Config):
    """Settings of VeRPO."""

    tests: tuple[str, ...] = Field((), description='Channels that are unit tests; empty: all named "test/...".')
    alpha: float = Field(1.0, ge=0, description="How much less an easier test is worth.")
    sigma: float = Field(0.2, gt=0, description="Width within which tests are of one difficulty.")
    delta: float = Field(1e-6, gt=0, description="Added to the density of tests.")
    beta: float = Field(1.0, ge=0, description="Weight of the turn term.")
    gamma: float = Field(0.95, ge=0, le=1, description="Discount of the outcome, once a turn.")


def compute(table: StepTable, config: VeRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    names = config.tests or tuple(name for name in table.channels if name.startswith(TESTS))
    if not names:
        raise CairnError(
            f"credit 'verpo': expected channels of unit tests, named '{TESTS}...', got {sorted(table.channels)}; name "
            "others in `tests`"
        )
    tests = [table.channel(name, absent=0.0) for name in names]
    turns = np.bincount(table.group)
    rate = np.stack([np.bincount(table.group, test) / turns for test in tests])  # [J, G]
    was_run = np.stack([np.bincount(table.group, ~np.isnan(table.channels[name])) > 0 for name in names])  # [J, G]
    density = np.zeros_like(rate)
    for other, counts in zip(rate, was_run, strict=True):
        density += counts * np.exp(-((rate - other) ** 2) / (2 * config.sigma**2))
    weight = np.exp(-config.alpha * rate) / (density + config.delta)
    passed = np.zeros(len(table))
    for test, test_weight in zip(tests, weight, strict=True):
        passed += test_weight[table.group] * test
    outcome = scores(table) * config.gamma ** np.bincount(table.episode)
    episode = centered(outcome, table.group[table.first_rows])[table.episode]
    return episode + config.beta * centered(passed, table.group)


_TURNS = "turns of one episode differ in the tests that they pass for any outcomes"
CREDIT = Credit(
    VeRPOConfig,
    from_function(compute),
    needs=("channels",),
    channels=lambda config: config.tests or (f"{TESTS}*",),
    violates={
        "no spread": _TURNS,
        "lone": _TURNS,
        "shift": "a constant in a channel that is a test changes the pass rates, and with them the weights",
        "better": "tests may rank episodes against their outcomes",
    },
)
