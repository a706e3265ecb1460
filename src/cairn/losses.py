"""Names for authors of losses: the plug-in, its inputs and its output.

`docs/tutorials/add-loss.md` is the guide.
"""

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.trainer.losses.base import Loss, LossFunction, LossInputs, LossOutput, mean_over
from cairn.trainer.losses.clip import clipped

__all__ = [
    "Config",
    "Loss",
    "LossFunction",
    "LossInputs",
    "LossOutput",
    "clipped",
    "from_function",
    "mean_over",
]
