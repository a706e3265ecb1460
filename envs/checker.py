"""Checks properties of an environment, for `cairn envs check NAME` and `tests/properties`.

Each property is a function from a `Subject` to a line with its measurement; it raises `PropertyViolation` if the
property does not hold. An environment that raises an exception violates the property under check.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cairn.core.errors import MissingDataError, MissingExtraError, MissingProgramError
from cairn.envs.properties import contract, hidden_state, methods, processes, sameness, winning
from cairn.envs.properties.subject import PropertyViolation, Subject

Property = Callable[[Subject], str]

PROPERTIES: Mapping[str, Property] = {
    "methods": methods.methods,
    "declaration": contract.declaration,
    "gymnasium": contract.gymnasium_check,
    "errors": contract.errors,
    "budget": contract.budget,
    "score-range": contract.score_range,
    "channels": contract.channels,
    "admissible": contract.admissible,
    "oracle": winning.oracle_succeeds,
    "constant-agent": winning.constant_agent,
    "random-agent": winning.random_agent,
    "hostile-text": winning.hostile_text,
    "replay": sameness.replay,
    "global-random-state": sameness.global_random_state,
    "anchors": sameness.anchors,
    "hidden-state": hidden_state.hidden_state,
    "snapshot": sameness.snapshot,
    "other-process": processes.other_process,
    "leaks": processes.leaks,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyReport:
    """The result of checking one property."""

    name: str
    holds: bool
    detail: str  # the measurement, or the expected and the actual result
    seconds: float


def check(env_id: str, config: Mapping[str, Any] | None = None) -> Iterator[PropertyReport]:
    """Yield one report per property, as each is finished.

    If the property "methods" does not hold, it is the only report.

    Raises:
        CairnError: the environment is unknown, or its packages or data are missing.
    """
    subject = Subject(env_id, dict(config or {}))
    _ = subject.env  # an unknown name or missing data is an error of the caller, not a violated property
    for name in PROPERTIES:
        report = check_property(name, subject)
        yield report
        if name == "methods" and not report.holds:
            return


def check_property(name: str, subject: Subject) -> PropertyReport:
    """Check one property.

    Raises:
        MissingDataError, MissingExtraError, MissingProgramError: the environment cannot run here.
    """
    start = time.perf_counter()
    try:
        holds, detail = True, PROPERTIES[name](subject)
    except PropertyViolation as broken:
        holds, detail = False, str(broken)
    except (MissingDataError, MissingExtraError, MissingProgramError):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (an environment that raises violates the property)
        holds, detail = False, f"raised {type(error).__name__}: {error}"
    return PropertyReport(name=name, holds=holds, detail=detail, seconds=time.perf_counter() - start)
