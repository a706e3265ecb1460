"""Scores a submission by hidden tests, by its answer's value, or by the final world."""

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
    """The score of a submission."""

    score: float  # 0 to 1
    text: str  # for the agent
    # "test/0", ...: 1 if the hidden test passed, else 0; the number of signs of tampering, only if it is not 0
    channels: Mapping[str, float] = field(default_factory=dict)


def scored(problem: Problem, work: Work | None, answer: str | None, session: Session, judge: Judge) -> Scored:
    """Score the session's folder, the answer or the world.

    Raises:
        CairnError: the task has no hidden tests, answer or world.
        SandboxFailure: a sandbox failed, not because of the submission.
        RewardFailure: the tests failed, not because of the submission.
    """
    if problem.answer is not None:
        is_right = answer is not None and _equal(answer, problem.answer)
        return Scored(score=float(is_right), text="Right." if is_right else "Not right.")
    if work is not None:
        score, explanation = work.judge(answer)
        return Scored(score=score, text=explanation)
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
    """Return whether two literals have equal values; False if the answer is not a literal."""
    try:
        return bool(ast.literal_eval(answer.strip()) == ast.literal_eval(expected))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError: a list as a key
        return False
