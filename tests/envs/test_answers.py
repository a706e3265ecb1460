"""What an environment says of a step is checked before anyone relies on it."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.envs._answers import checked_reset
from cairn.envs._world import Failure

INFO: dict[str, Any] = {"task_id": "t", "anchor": 1, "success": False, "score": 0.0}  # Any: as environments say it


@pytest.mark.parametrize(
    ("said", "taken"), [(None, None), ((1, -2, 3, 4), (1, -2, 3, 4)), ([1, 2, 3, 4], (1, 2, 3, 4))]
)
def test_what_was_acted_on_is_a_box_or_nothing(said: object, taken: object) -> None:
    assert checked_reset(("text", {**INFO, "acted": said}))[1]["acted"] == taken
    assert "acted" not in checked_reset(("text", INFO))[1]


@pytest.mark.parametrize(("said", "taken"), [(None, None), (b"\x89PNG", b"\x89PNG"), ("iVBORw==", b"\x89PNG")])
def test_a_picture_is_bytes_which_come_as_base64_from_another_process(said: object, taken: object) -> None:
    assert checked_reset(("text", {**INFO, "image": said}))[1]["image"] == taken
    assert "image" not in checked_reset(("text", INFO))[1]


@pytest.mark.parametrize("said", ["iVBORw", "a picture", "\ud800", 5, [137, 80]])
def test_anything_else_is_no_picture(said: object) -> None:
    with pytest.raises(Failure, match="must be bytes"):
        checked_reset(("text", {**INFO, "image": said}))


@pytest.mark.parametrize("said", [(1, 2, 3), (1, 2, 3, 4.0), (1, 2, 3, True), "1234", 5])
def test_anything_else_is_garbage(said: object) -> None:
    with pytest.raises(Failure, match="four whole numbers"):
        checked_reset(("text", {**INFO, "acted": said}))
