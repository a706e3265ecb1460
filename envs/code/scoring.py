"""What a submission is worth: hidden tests, an answer compared by value, or the world that is left."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from cairn.core.errors import CairnError
from cairn.core.records import TAMPERING, TESTS
from cairn.envs.code.judge import Judge, TestVerdict
from cairn.envs.code.problem import Problem, Work
from cairn.sandboxes.base import FileRefused, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A submission's worth."""

    score: float  # 0 to 1
    text: str  # what is told
    # "test/0", ...: 1 for a hidden test passed, 0 if not; only where there are any, how many signs of tampering
    channels: Mapping[str, float] = field(default_factory=dict)


def scored(problem: Problem, work: Work | None, answer: str | None, session: Session, judge: Judge) -> Scored:
    """Return what the session's folder, the answer or the world is worth.

    Raises:
        CairnError: the task has nothing to judge by.
        SandboxFailure: a sandbox failed by itself.
        RewardFailure: the tests did.
    """
    if problem.answer is not None:
        is_right = answer is not None and _equal(answer, problem.answer)
        return Scored(score=float(is_right), text="Right." if is_right else "Not right.")
    if work is not None:
        score, said = work.judge(answer)
        return Scored(score=score, text=said)
    if problem.job is None:
        raise CairnError("a task without hidden tests, answer or world cannot be judged")
    given = {path: problem.files[path].encode() for path in problem.given}
    changed = 0
    try:
        submission = _submission(session)
        changed = sum(submission.get(path) != data for path, data in given.items())
        verdict = judge.judge(submission, given, problem.job)
    except FileRefused as refused:
        verdict = TestVerdict(passed=(), problems=(f"Not judged: {refused}",))
    signs = _signs(given_files=changed, answers=verdict.intrusions)
    if not verdict.passed:
        text = f"No hidden test passed. {verdict.problems[0]}"
        return Scored(score=0.0, text=text, channels={f"{TESTS}0": 0.0, **signs})
    return Scored(
        score=verdict.share,
        text=f"{sum(verdict.passed)} of {len(verdict.passed)} hidden tests passed.",
        channels={**{f"{TESTS}{i}": float(passed) for i, passed in enumerate(verdict.passed)}, **signs},
    )


def _signs(**counts: int) -> dict[str, float]:
    return {f"{TAMPERING}{name}": float(count) for name, count in counts.items() if count}


def _submission(session: Session) -> dict[str, bytes]:
    """Return the folder's regular files."""
    found, at, snapshot = {}, 0, session.snapshot()
    for path, kind, size, *_ in snapshot.entries:
        if kind == "file":
            found[path] = snapshot.data[at : at + size]
            at += size
    return found


def _equal(answer: str, expected: str) -> bool:
    """Compare literals by value; a text that is not a literal is not equal."""
    try:
        return bool(ast.literal_eval(answer.strip()) == ast.literal_eval(expected))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError: a list as a key
        return False
