"""Cairn: environments, step-level credit and training for multi-turn agents. Names are imported when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cairn.envs import _gymnasium

if TYPE_CHECKING:
    from cairn.agents.evaluation.evaluate import evaluate
    from cairn.core.records import Episode, Observation, Task, Turn
    from cairn.core.table import StepTable
    from cairn.envs import scorers
    from cairn.envs.data_env import DataEnv
    from cairn.envs.registry import make, register
    from cairn.envs.tools_env import tools_env
    from cairn.envs.wrap import wrap
    from cairn.trainer.config import load_run_config
    from cairn.trainer.credit import advantage_std, advantages
    from cairn.trainer.credit.trajectory_graph import TrajectoryGraph, trajectory_graph
    from cairn.trainer.run.result import Run
    from cairn.trainer.train import train

__version__ = "0.1.0"
_gymnasium.install()  # ids "cairn/..." of gymnasium.make; imports nothing by itself

_HOMES = {
    "DataEnv": "cairn.envs.data_env",
    "Episode": "cairn.core.records",
    "Observation": "cairn.core.records",
    "Run": "cairn.trainer.run.result",
    "StepTable": "cairn.core.table",
    "TrajectoryGraph": "cairn.trainer.credit.trajectory_graph",
    "Task": "cairn.core.records",
    "Turn": "cairn.core.records",
    "advantages": "cairn.trainer.credit",
    "evaluate": "cairn.agents.evaluation.evaluate",
    "load_run_config": "cairn.trainer.config",
    "make": "cairn.envs.registry",
    "register": "cairn.envs.registry",
    "tools_env": "cairn.envs.tools_env",
    "train": "cairn.trainer.train",
    "trajectory_graph": "cairn.trainer.credit.trajectory_graph",
    "wrap": "cairn.envs.wrap",
    "advantage_std": "cairn.trainer.credit",
}
__all__ = [
    "DataEnv",
    "Episode",
    "Observation",
    "Run",
    "StepTable",
    "Task",
    "TrajectoryGraph",
    "Turn",
    "__version__",
    "advantage_std",
    "advantages",
    "evaluate",
    "load_run_config",
    "make",
    "register",
    "scorers",
    "tools_env",
    "train",
    "trajectory_graph",
    "wrap",
]


def __getattr__(name: str) -> Any:  # Any: each name has its own type, see TYPE_CHECKING above
    if name == "scorers":
        return importlib.import_module("cairn.envs.scorers")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'cairn' has no attribute {name!r}")
