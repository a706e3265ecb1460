"""Names for authors of credit methods: the plug-in, the step table, and array functions over it.

`docs/tutorials/add-estimator.md` is the guide, `docs/add_credit.md` the reference.
"""

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Flags, Floats, Ids, Keys, StepTable
from cairn.trainer.credit import CheckedEstimator, advantage_std, advantages
from cairn.trainer.credit.base import Credit, DropsRows, Estimator, HasStd
from cairn.trainer.credit.kernel.graph import Graph, build_graph
from cairn.trainer.credit.kernel.returns import discounted, following, gae, returns, scores
from cairn.trainer.credit.kernel.segments import centered, lower_median, means, segments
from cairn.trainer.credit.kernel.values import fixed_point, next_values, start_values, success_rewards

__all__ = [
    "CheckedEstimator",
    "Config",
    "Credit",
    "DropsRows",
    "Estimator",
    "Flags",
    "Floats",
    "Graph",
    "HasStd",
    "Ids",
    "Keys",
    "StepTable",
    "advantage_std",
    "advantages",
    "build_graph",
    "centered",
    "discounted",
    "fixed_point",
    "following",
    "from_function",
    "gae",
    "lower_median",
    "means",
    "next_values",
    "returns",
    "scores",
    "segments",
    "start_values",
    "success_rewards",
]
