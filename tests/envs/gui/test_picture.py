"""Marks on pictures: around what is in sight, and at the edge beyond which something lies."""

from __future__ import annotations

import io

import pytest

from cairn.envs.gui.picture import with_frame

Image = pytest.importorskip("PIL.Image")
MARK = (0xC1, 0x12, 0x1F)


def marked(box: tuple[int, int, int, int]) -> set[tuple[int, int]]:
    """Return the places of a mark on a white picture of 60 x 40 pixels."""
    blank = io.BytesIO()
    Image.new("RGB", (60, 40), "white").save(blank, "PNG")
    picture = Image.open(io.BytesIO(with_frame(blank.getvalue(), box)))
    return {(x, y) for x in range(60) for y in range(40) if picture.getpixel((x, y)) == MARK}


def test_what_is_in_sight_has_a_frame_around_it() -> None:
    found = marked((20, 10, 12, 8))
    assert {(17, 7), (35, 7), (17, 21), (35, 21)} <= found
    assert not {(x, y) for x in range(20, 32) for y in range(10, 18)} & found


@pytest.mark.parametrize(
    ("box", "bar"),
    [
        ((20, 90, 12, 8), (range(20, 32), range(34, 40))),
        ((20, -90, 12, 8), (range(20, 32), range(6))),
        ((100, 10, 12, 8), (range(54, 60), range(10, 18))),
        ((-100, 90, 12, 8), (range(6), range(34, 40))),
    ],
)
def test_what_is_out_of_sight_has_a_bar_at_the_edge(box: tuple[int, int, int, int], bar: tuple[range, range]) -> None:
    assert marked(box) == {(x, y) for x in bar[0] for y in bar[1]}
