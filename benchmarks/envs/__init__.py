"""Does an environment play by the original's rules, fast enough, and can it be solved? One row per question.

One module an environment, which measures on one core. A question that could not be asked has a row without a value that
says why.
"""

from __future__ import annotations

import importlib
import pkgutil

from cairn.benchmarks.outcome import Measurement
from cairn.core.errors import UnknownNameError


def run(env: str = "household", quick: bool = False) -> Measurement:
    """Measure an environment; `quick` takes samples and answers in under 45 s.

    Raises:
        UnknownNameError: there is no benchmark for this environment.
    """
    known = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    if env not in known:
        raise UnknownNameError("environment with a benchmark", env, known, "cairn bench --help")
    outcome: Measurement = importlib.import_module(f"{__name__}.{env}").measure(quick)
    return outcome
