"""GAGPO: GAE over turns, with the mean return of all visits to a state as its value.

::

    V(s)    = mean over visits to s of R;  R_t = r_t + gamma R_{t+1}
    delta_t = r_t + gamma V(x) - V(s)                                x: the state the step led to; V(end) = 0
    A_t     = norm(sum_k (gamma lam)^k delta_{t+k}; group)           (A - mean) / (std + epsilon)

No episode term. std with ddof 1. Averaging unit: steps, for V those at the state, for the norm those of the group
(`within`). Without spread: 0; also for a single episode that never returns to a state, and for equal episodes. lam = 1
gives R - V(s) before the norm. A timeout is a failure, or leads to the state in which the episode stopped, with the
value from other visits ("open").
Source: 2605.13217, from a secondary note. Missing there, so our choice: the values of gamma and lam, ddof and epsilon,
the successor of a timeout, and whether the norm is within the task (default, as the note argues) or within the state.
Departure: the source's policy ratio, one for all tokens of a step, belongs to the loss.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.graph import build_graph
from cairn.trainer.credit.kernel.returns import gae, returns
from cairn.trainer.credit.kernel.segments import centered
from cairn.trainer.credit.kernel.values import node_means


class GAGPOConfig(Config):
    """Settings of GAGPO."""

    gamma: float = Field(0.95, ge=0, le=1, description="Discount of a step.")
    lam: float = Field(0.95, ge=0, le=1, description="Lambda: how far a step is credited with later surprises.")
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    normalize: Literal["none", "centre", "std"] = Field(
        "std", description="Take the segment's mean off and divide by its std; take the mean off; or neither (none)."
    )
    within: Literal["group", "state"] = Field("group", description="Segment of the norm.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GAGPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    graph = build_graph(table, table.anchor, table.next_anchor, config.timeout)
    value = np.append(node_means(graph, returns(table, table.reward, config.gamma)), 0.0)
    credit = gae(table, value[graph.tail], value[graph.head], config.gamma, config.lam)
    if config.normalize == "none":
        return credit
    segment = table.group if config.within == "group" else graph.tail
    return centered(credit, segment, scale="std" if config.normalize == "std" else "none", epsilon=config.epsilon)


CREDIT = Credit(GAGPOConfig, from_function(compute))
