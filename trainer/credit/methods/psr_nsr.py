"""PSR/NSR: a fixed advantage for solved episodes and another for the rest, without baseline.

::

    A_i = positive where r_i > threshold, else -negative

r_i: sum of episode i's rewards; every step of the episode gets A_i. Averaging unit: none. Divisor: none. Groups do not
matter: a group of one and one without spread are treated like any other. A reward equal to the threshold does not count
as solved. W-REINFORCE: positive 0.1, negative 1 (the default). PSR: 1, 0. NSR: 0, 1.
Source: 2506.01347, TianHongZXY/RLVR-Decomposed. Departures: none for binary rewards; the threshold makes others binary.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores


class PSRNSRConfig(Config):
    """Settings of PSR, NSR and W-REINFORCE."""

    positive: float = Field(0.1, ge=0, description="Advantage of a solved episode; the paper's lambda.")
    negative: float = Field(1.0, ge=0, description="Advantage of any other episode, with its sign turned.")
    threshold: float = Field(0.5, allow_inf_nan=False, description="An episode with a greater reward is solved.")


def compute(table: StepTable, config: PSRNSRConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    return np.where(scores(table) > config.threshold, config.positive, -config.negative)[table.episode]


CREDIT = Credit(
    PSRNSRConfig,
    from_function(compute),
    assumes=("scores of 0 or more",),
    violates={
        "no spread": "there is no baseline",
        "lone": "there is no baseline",
        "shift": "the threshold stays where it was",
    },
)
