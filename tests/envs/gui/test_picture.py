"""Marks on pictures: around visible elements, and at the edge beyond which an element is hidden."""

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


def test_a_visible_element_has_a_frame_around_it() -> None:
    element = {(x, y) for x in range(20, 32) for y in range(10, 18)}
    assert marked((20, 10, 12, 8)) == {(x, y) for x in range(17, 35) for y in range(7, 21)} - element


@pytest.mark.parametrize(
    ("box", "bar"),
    [
        ((20, 90, 12, 8), (range(17, 35), range(34, 40))),
        ((20, -90, 12, 8), (range(17, 35), range(6))),
        ((100, 10, 12, 8), (range(54, 60), range(7, 21))),
        ((-100, 90, 12, 8), (range(6), range(34, 40))),
    ],
)
def test_an_element_out_of_view_has_a_bar_at_the_edge(box: tuple[int, int, int, int], bar: tuple[range, range]) -> None:
    assert marked(box) == {(x, y) for x in bar[0] for y in bar[1]}
