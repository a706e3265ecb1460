"""Environments: conformance to the original, speed and solvability, one row per question.

One module per environment, which measures on one core. An unanswered question has a row without a value, with the
reason.
"""

from __future__ import annotations

import importlib
import pkgutil

from cairn.benchmarks.outcome import Measurement
from cairn.core.errors import UnknownNameError


def run(env: str = "household", quick: bool = False) -> Measurement:
    """Measure an environment; `quick` uses samples and takes under 45 s.

    Raises:
        UnknownNameError: the environment has no benchmark.
    """
    known = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    if env not in known:
        raise UnknownNameError("environment with a benchmark", env, known, "cairn bench --help")
    outcome: Measurement = importlib.import_module(f"{__name__}.{env}").measure(quick)
    return outcome
