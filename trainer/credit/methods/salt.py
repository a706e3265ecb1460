"""SALT: averages the episode's advantage over equal edges of the group's trajectory graph.

::

    A_i      = norm(score_i; group)                        base: GRPO or leave-one-out, one an episode
    A'_{i,t} = mean of A_j over all steps (j, u) of the group whose edge is that of (i, t)
    edge     = (state before, action, state after);  state = the last h pairs of an action and what was seen after it

Averaging unit of the base: episodes, each once; of the merge: steps, so that an episode that takes an edge twice counts
twice there, and the sum over rows does not change. Divisor of `normalize = "std"`: std with ddof 1, + epsilon.
Degenerate cases: an edge taken once keeps its episode's advantage; a group of one or without spread: 0. A last step
without a recorded next state is a unique edge; without a `next_anchor` the table only distinguishes ends by success, so
that last steps with equal success merge. With h at least the episode's length, only common prefixes merge.
Source: 2510.20022; no code of the authors is known. Departures: equality of keys instead of text or embeddings. Not
specified by the sources: whether the next state is part of an edge (here it is), and whether the mean is over steps or
episodes (here steps). `key = "edge"` drops the history: then a state is the anchor alone.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, means, segments


class SALTConfig(Config):
    """Settings of SALT."""

    history: int = Field(3, ge=1, description="h: pairs of action and observation that make a state of key 'history'.")
    key: Literal["history", "edge"] = Field("history", description="Whether equal edges need equal histories.")
    base: Literal["grpo", "rloo"] = Field("grpo", description="Advantage of an episode that is averaged.")
    normalize: Literal["none", "std"] = Field(
        "std", description="Divide the base 'grpo' by the group's standard deviation, or not; 'rloo' never is."
    )
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: SALTConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    score, group = scores(table), table.group[table.first_rows]
    if config.base == "rloo":
        base = centered(score, group, baseline="loo")
    else:
        base = centered(score, group, scale=config.normalize, epsilon=config.epsilon)
    key = keys.edge(table) if config.key == "edge" else keys.history_edge(table, config.history)
    edge = segments(table.group, key)
    return means(base[table.episode], edge)[edge]


CREDIT = Credit(
    SALTConfig,
    from_function(compute),
    violates={"shift": "where `next_anchor` is left out, an end is known by its success, which a shift can turn over"},
)
