"""Returned values of an environment's step are validated before use."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from cairn.envs.base import Outcome
from cairn.envs.checker import check_property
from cairn.envs.pool.host import Failure
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.envs.pool.validation import checked_reset
from cairn.envs.properties.subject import Subject
from tests.envs.faulty import Sound

INFO: dict[str, Any] = {"task_id": "t", "anchor": 1, "success": False, "score": 0.0}  # Any: as environments say it
RANGE = (0.0, 1.0)


@pytest.mark.parametrize(
    ("said", "taken"), [(None, None), ((1, -2, 3, 4), (1, -2, 3, 4)), ([1, 2, 3, 4], (1, 2, 3, 4))]
)
def test_the_acted_element_is_a_box_or_none(said: object, taken: object) -> None:
    assert checked_reset(("text", {**INFO, "acted": said}), RANGE)[1]["acted"] == taken
    assert "acted" not in checked_reset(("text", INFO), RANGE)[1]


@pytest.mark.parametrize(("said", "taken"), [(None, None), (b"\x89PNG", b"\x89PNG"), ("iVBORw==", b"\x89PNG")])
def test_a_picture_is_bytes_or_base64_from_another_process(said: object, taken: object) -> None:
    assert checked_reset(("text", {**INFO, "image": said}), RANGE)[1]["image"] == taken
    assert "image" not in checked_reset(("text", INFO), RANGE)[1]


@pytest.mark.parametrize("said", ["iVBORw", "a picture", "\ud800", 5, [137, 80]])
def test_a_picture_of_another_type_is_rejected(said: object) -> None:
    with pytest.raises(Failure, match="must be bytes"):
        checked_reset(("text", {**INFO, "image": said}), RANGE)


@pytest.mark.parametrize("said", [(1, 2, 3), (1, 2, 3, 4.0), (1, 2, 3, True), "1234", 5])
def test_anything_else_is_garbage(said: object) -> None:
    with pytest.raises(Failure, match="four whole numbers"):
        checked_reset(("text", {**INFO, "acted": said}), RANGE)


@pytest.mark.parametrize(("score", "fits"), [(0, True), (1.0, True), (1 + 1e-12, True), (1.001, False), (-0.1, False)])
def test_a_score_lies_in_the_declared_range(score: float, fits: bool) -> None:
    answer = ("text", {**INFO, "score": score})
    if fits:
        assert checked_reset(answer, RANGE)[1]["score"] == score
    else:
        with pytest.raises(Failure, match=r"must lie in the declared reward_range \(0.0, 1.0\)"):
            checked_reset(answer, RANGE)


@pytest.mark.parametrize("anchor", [1 << 63, -(1 << 63) - 1, 1.0, None])
def test_an_anchor_is_a_signed_integer_of_64_bits(anchor: object) -> None:
    with pytest.raises(Failure, match="anchor"):
        checked_reset(("text", {**INFO, "anchor": anchor}), RANGE)


class Counted(Sound):
    """Answers in NumPy's numbers."""

    meta = replace(Sound.meta, parts=("said",), is_deterministic=True)

    def start(self, task_id: str, rng: random.Random) -> str:
        super().start(task_id, rng)
        self.said = 0
        return "Say."

    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        number: Any = np.float32 if self.turn % 2 else np.int64  # Any: one of NumPy's types
        flag: Any = np.bool_  # Any: as above
        return replace(
            outcome,
            reward=number(outcome.reward),
            terminated=flag(outcome.terminated),
            success=flag(outcome.success),
            score=number(outcome.score),
            channels={"said": number(outcome.reward)},
        )


@pytest.mark.parametrize("kind", ["inside", "processes"])
def test_numbers_and_flags_may_be_numpys(kind: Literal["inside", "processes"]) -> None:
    with EnvPool(f"{__name__}:Counted", {}, PoolConfig(kind=kind)) as pool, pool.lease() as env:
        env.reset(seed=0, options={"task": "amber-blue-coral-green"})
        for action in ("amber", "blue", "coral", "green"):
            _, reward, terminated, truncated, info = env.step(action)
            flags, numbers = (terminated, truncated, info["success"]), (info["score"], info["channels"]["said"])
            assert type(reward) is float
            assert {type(flag) for flag in flags} == {bool}
            assert all(type(number) in (int, float) for number in numbers)
    assert (reward, terminated, info["success"], info["score"]) == (1.0, True, True, 1.0)


def test_the_checker_accepts_numpy_numbers_too() -> None:
    for name in ("score-range", "channels"):
        report = check_property(name, Subject(f"{__name__}:Counted"))
        assert report.holds, report.detail
