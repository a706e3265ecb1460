"""Judges a trusted submission in this process: the judge's own two programs, joined by JSON lines, without sandboxes.

Thousands of tasks take seconds this way. The submission must come from the tests of this repository.
"""

from __future__ import annotations

import builtins
import difflib
import json
import pprint
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from cairn.envs.code import judge
from cairn.envs.code.judge import HiddenTests

_MOST_ANSWERS = 3000


class RefusedError(Exception):
    """Refuses a call of the tests, as the host does."""


def share(job: HiddenTests, module: Callable[[], object]) -> float:
    """Return the share of hidden tests passed, where `module` makes the module that every import receives."""
    count = 0
    answerer: dict[str, Any] = {}  # Any: the names of a program

    def call(name: str, arguments: dict[str, Any]) -> object:  # Any: JSON
        nonlocal count, answerer
        if name == "restart" or not answerer:
            answerer = {"__name__": "answerer"}
            exec(_code("answerer.py"), answerer)  # noqa: S102  (our own program)
            made = module()
            answerer["_DOINGS"]["import"] = lambda _: made
            answerer["_names"] = lambda _: {}
        count += 1
        if count > _MOST_ANSWERS:
            raise RefusedError("too many answers")
        if name == "restart":
            return None
        return json.loads(json.dumps(answerer["answer"](json.loads(json.dumps(arguments)))))

    tester = {"__name__": "tester", "_cairn_call": call, "_cairn_error": RefusedError}
    exec(_code("tester.py"), tester)  # noqa: S102  (our own program)
    kept = (list(sys.meta_path), difflib.ndiff, pprint.pformat, set(sys.modules))
    try:
        results = json.loads(tester["run_tests"](json.dumps(asdict(job))))  # type: ignore[operator]  # a program's name
    finally:
        sys.meta_path[:], difflib.ndiff, pprint.pformat = kept[:3]
        for name in set(sys.modules) - kept[3]:
            if name.partition(".")[0] in job.modules:
                del sys.modules[name]
    return sum(problem is None for _, problem in results) / max(1, len(results))


_compiled: dict[str, Any] = {}  # Any: code objects


def _code(name: str) -> Any:  # Any: a code object
    if name not in _compiled:
        _compiled[name] = builtins.compile(judge._program(name), name, "exec")
    return _compiled[name]
