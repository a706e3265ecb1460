"""Cairn: environments, step-level credit and training for multi-turn agents. Names are imported when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cairn.envs import _gymnasium

if TYPE_CHECKING:
    from cairn.core.records import Episode, Observation, Task, Turn
    from cairn.envs.registry import make, register

__version__ = "0.1.0"
_gymnasium.install()  # ids "cairn/..." of gymnasium.make; imports nothing by itself

_HOMES = {
    "Episode": "cairn.core.records",
    "Observation": "cairn.core.records",
    "Task": "cairn.core.records",
    "Turn": "cairn.core.records",
    "make": "cairn.envs.registry",
    "register": "cairn.envs.registry",
}
__all__ = ["Episode", "Observation", "Task", "Turn", "__version__", "make", "register"]


def __getattr__(name: str) -> Any:  # Any: each name has its own type, see TYPE_CHECKING above
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'cairn' has no attribute {name!r}")
