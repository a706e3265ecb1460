"""Answers that are compared by value: any text is right or wrong, and none raises."""

from __future__ import annotations

import pytest

from cairn.envs.code.problem import Problem
from cairn.envs.code.scoring import scored

ANSWERS = {
    "[1, 2]": 1.0,
    " [1,2]\n": 1.0,
    "[1, 2.0]": 1.0,
    "[1]": 0.0,
    "": 0.0,
    "[1, 2], [1, 3]": 0.0,
    "{[]: 1}": 0.0,  # literals that cannot be hashed
    "{{}}": 0.0,
    "{1: [2, {[]}]}": 0.0,
    "-" * 100_000 + "1": 0.0,
    "[" * 100_000: 0.0,
    "9" * 100_000: 0.0,
    "\0": 0.0,
    "\ud800": 0.0,
    "open('/etc/passwd').read()": 0.0,
    "type('U', (), {'__eq__': lambda *_: True})()": 0.0,
}


@pytest.mark.parametrize(("answer", "score"), ANSWERS.items(), ids=lambda each: repr(each)[:30])
def test_an_answer_is_right_or_wrong(answer: str, score: float) -> None:
    problem = Problem(instruction="", files={}, answer="[1, 2]")
    found = scored(problem, None, answer, None, None)  # type: ignore[arg-type]  # neither is asked for an answer
    assert (found.score, found.channels) == (score, {})
