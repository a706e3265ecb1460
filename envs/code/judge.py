"""Runs hidden tests in one sandbox and the submission in another.

Only plain values pass between the two. The submission's process receives only the inputs of the tests: no expected
value, no comparison, no source of a test. It cannot patch the comparisons, print a verdict, or exit early with success.
It has its own files and the task's given files, which overwrite its changes. Its answers are untrusted data: the host
limits their size, number and time, and the tests' process rebuilds them as values of exact builtin types. A submission
that exceeds a limit, or whose answers end the tests' process, scores 0 with a reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from cairn.core.errors import RewardFailure
from cairn.sandboxes.base import FileRefused, Session
from cairn.sandboxes.interpreter import CallRefused, Interpreter
from cairn.sandboxes.pool import SessionPool

MODULES = (
    "ast", "base64", "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq",
    "importlib", "itertools", "json", "math", "operator", "random", "re", "statistics", "string", "types", "typing",
    "unittest",
)  # fmt: skip
_MOST_KNOWN = 4096
_MOST_TIMEOUTS = 2  # code that hangs repeatedly does not use up the time of all tests
_MOST_ANSWER = 4 << 20  # characters of one answer; reference solutions of MBPP+ have answers of 0.7 million
_MOST_ANSWERS = 100_000  # of one submission
_MOST_BYTES = 128 << 20  # of all answers of one submission
_INSIDE = Path(__file__).parent / "inside"
_PARTS = {"answerer.py": ("values.py", "answerer.py"), "tester.py": ("values.py", "proxies.py", "tester.py")}


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenTests:
    """The hidden tests of a task."""

    style: Literal["functions", "asserts", "unittest", "reference"]  # the unit of a test: see `inside/tester.py`
    tests: str = ""  # source
    prelude: str = ""  # source that runs before the tests: trusted, and not from the submission
    modules: tuple[str, ...]  # of the submission, with their packages' first names
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # name in the tests -> (module, attribute)
    inputs: tuple[str, ...] = ()  # for "reference": arguments as literals


@dataclass(frozen=True, slots=True, kw_only=True)
class TestVerdict:
    """The results of the hidden tests."""

    passed: tuple[bool, ...]  # of each test; empty: no test could begin
    problems: tuple[str, ...]  # of the failed tests, in order
    intrusions: int = 0  # malformed answers: the code wrote to the stream of its answers

    @property
    def is_right(self) -> bool:
        """Whether at least one test ran and all passed."""
        return bool(self.passed) and all(self.passed)

    @property
    def share(self) -> float:
        """Share of tests passed; 0 if no test could begin."""
        return sum(self.passed) / len(self.passed) if self.passed else 0.0


class Judge:
    """Judges submissions with sessions from a pool."""

    def __init__(
        self, pool: SessionPool, *, call_timeout_s: float = 5.0, all_s: float = 60.0, tests_s: float = 40.0
    ) -> None:
        """Set the limits in seconds.

        `call_timeout_s`: per call of the submission; `all_s`: for all calls; `tests_s`: for the tests. The time of the
        tests excludes the submission's calls, so judging takes at most `all_s + tests_s`.
        """
        self._pool, self._call_timeout_s, self._all_s, self._tests_s = pool, call_timeout_s, all_s, tests_s
        self._known: dict[bytes, TestVerdict] = {}  # recent ones: episodes of a group often submit equal files

    def judge(self, files: Mapping[str, bytes], given: Mapping[str, bytes], job: HiddenTests) -> TestVerdict:
        """Return the tests' verdict on the files; `given` files overwrite them.

        Raises:
            SandboxFailure: a sandbox failed, not because of the submission.
            RewardFailure: the tests failed, not because of the submission.
        """
        whole = {**files, **given}
        key = _key(whole, job)
        if key not in self._known:
            with self._pool.lease() as code, self._pool.lease() as tests:
                verdict = self._judged(code, tests, whole, job)
            if len(self._known) >= _MOST_KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = verdict
        return self._known[key]

    def _judged(self, code: Session, tests: Session, files: Mapping[str, bytes], job: HiddenTests) -> TestVerdict:
        try:
            for path, data in files.items():
                code.write_file(path, data)
        except FileRefused as refused:
            return TestVerdict(passed=(), problems=(str(refused),))
        return self._verdict(code, tests, job)

    def _verdict(self, code: Session, tests: Session, job: HiddenTests) -> TestVerdict:
        for session in (code, tests):
            try:
                session.warm(MODULES)
            except FileRefused as refused:  # no code of the submission has run yet
                raise RewardFailure(f"A sandbox for hidden tests cannot load its modules: {refused}") from refused
        relay = _Relay(code, self._call_timeout_s, self._all_s)
        interpreter = Interpreter(tests, _program("tester.py"), relay)
        cell = interpreter.run(f"print(run_tests({json.dumps(asdict(job))!r}))", self._tests_s)
        lines = cell.stdout.decode("utf-8", "replace").splitlines()
        if cell.limit == "wall":
            problem = f"the tests took longer than {self._tests_s:g} s with the submission's answers"
            return TestVerdict(passed=(), problems=(problem,), intrusions=relay.intrusions)
        if cell.error is None and lines:
            return replace(_read(lines[-1]), intrusions=relay.intrusions)
        if relay.num_answers == 0 or str(cell.error).startswith("BrokenTests"):
            raise RewardFailure(f"Hidden tests failed by themselves: {cell.error}; {cell.stderr[-500:]!r}")
        problem = f"the tests ended with the submission's answers: {cell.limit or cell.error}"
        return TestVerdict(passed=(), problems=(problem,), intrusions=relay.intrusions)


class _Relay:
    """Passes the tests' requests to the submission, and its answers back."""

    def __init__(self, code: Session, call_timeout_s: float, all_s: float) -> None:
        self._code, self._call_timeout_s, self._left_s = code, call_timeout_s, all_s
        self._is_open, self._timeouts = False, 0
        self._left_bytes = _MOST_BYTES
        self.intrusions = self.num_answers = 0

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> object:  # Any: JSON
        if name == "restart" or not self._is_open:
            self._code.start_program(_program("answerer.py") + "\n\nserve()\n")
            self._is_open = True
        if name == "restart":
            return None
        seconds = min(self._call_timeout_s, self._left_s)
        if seconds <= 0 or self._timeouts >= _MOST_TIMEOUTS:
            raise CallRefused("the time for all tests is over")
        if self.num_answers >= _MOST_ANSWERS or self._left_bytes < 0:
            raise CallRefused(f"more than {_MOST_ANSWERS} answers or {_MOST_BYTES} bytes of them")
        result = self._code.send_line(json.dumps(dict(arguments)), wall_s=seconds)
        self._left_s -= result.wall_s - result.waited_s
        self._timeouts += result.limit == "wall"
        if result.line is None:
            self._is_open = False
            raise CallRefused(f"the code's process ended ({result.limit or result.signal or result.exit_code})")
        self.num_answers += 1
        self._left_bytes -= len(result.line)
        if len(result.line) > _MOST_ANSWER:
            raise CallRefused(f"an answer of {len(result.line)} characters; {_MOST_ANSWER} are allowed")
        return self._object(result.line, is_late=result.limit is not None)

    def _object(self, line: str, *, is_late: bool) -> dict[str, Any]:  # Any: JSON
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            self.intrusions += 1
            raise CallRefused("the code wrote into the conversation") from None
        if not isinstance(reply, dict) or not ({"value", "raised"} & set(reply)):
            self.intrusions += not is_late
            raise CallRefused("the call took too long")
        return reply


def _key(files: Mapping[str, bytes], job: HiddenTests) -> bytes:
    whole = hashlib.blake2b(json.dumps(asdict(job)).encode(), digest_size=16)
    for path, data in sorted(files.items()):
        whole.update(f"{len(path)} {len(data)} {path}".encode("utf-8", "surrogateescape") + data)
    return whole.digest()


@cache
def _program(name: str) -> str:
    return "\n\n".join((_INSIDE / part).read_text() for part in _PARTS[name])


def _read(line: str) -> TestVerdict:
    results: list[tuple[str, str | None]] = json.loads(line)
    return TestVerdict(
        passed=tuple(problem is None for _, problem in results),
        problems=tuple(_text(f"{name}: {problem}") for name, problem in results if problem is not None),
    )


def _text(problem: str) -> str:
    """Replace lone surrogates, which an answer may contain and UTF-8 cannot store."""
    return problem.encode("utf-8", "replace").decode()
