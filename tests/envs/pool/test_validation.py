"""What an environment says of a step is checked before anyone relies on it."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.envs.pool.host import Failure
from cairn.envs.pool.validation import checked_reset

INFO: dict[str, Any] = {"task_id": "t", "anchor": 1, "success": False, "score": 0.0}  # Any: as environments say it
RANGE = (0.0, 1.0)


@pytest.mark.parametrize(
    ("said", "taken"), [(None, None), ((1, -2, 3, 4), (1, -2, 3, 4)), ([1, 2, 3, 4], (1, 2, 3, 4))]
)
def test_what_was_acted_on_is_a_box_or_nothing(said: object, taken: object) -> None:
    assert checked_reset(("text", {**INFO, "acted": said}), RANGE)[1]["acted"] == taken
    assert "acted" not in checked_reset(("text", INFO), RANGE)[1]


@pytest.mark.parametrize(("said", "taken"), [(None, None), (b"\x89PNG", b"\x89PNG"), ("iVBORw==", b"\x89PNG")])
def test_a_picture_is_bytes_which_come_as_base64_from_another_process(said: object, taken: object) -> None:
    assert checked_reset(("text", {**INFO, "image": said}), RANGE)[1]["image"] == taken
    assert "image" not in checked_reset(("text", INFO), RANGE)[1]


@pytest.mark.parametrize("said", ["iVBORw", "a picture", "\ud800", 5, [137, 80]])
def test_anything_else_is_no_picture(said: object) -> None:
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
