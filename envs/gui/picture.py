"""Screenshots of pages as PNG, with element numbers or with one element marked."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from cairn.core.records import Box

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

    from cairn.envs.gui.accessibility import View
    from cairn.sandboxes.browser.tab import Tab

_MARK = 3  # line width in pixels
_COLOURS = ("#c1121f", "#1d3557", "#2a6f2b", "#7b2cbf", "#b35c00", "#006d77")


async def screenshot(tab: Tab, marked: View | None) -> bytes:
    """Return a screenshot of the window; with a view, each element's number is at its corner."""
    image = await tab.picture()
    return image if marked is None else with_numbers(image, marked)


def with_numbers(image: bytes, view: View) -> bytes:
    """Return a picture of a page with a frame and number for every element in sight."""
    from PIL import Image, ImageDraw

    picture = Image.open(io.BytesIO(image)).convert("RGB")
    draw = ImageDraw.Draw(picture)
    for count, node in enumerate(node for node in view.nodes if node.bid and view.is_in_sight(node)):
        colour = _COLOURS[count % len(_COLOURS)]
        _frame(draw, node.box, colour, 1)
        _label(draw, node.box, node.bid, colour)
    return _png(picture)


def with_frame(image: bytes, box: Box) -> bytes:
    """Return a picture of a page with one element framed.

    An element outside the picture is shown as a bar at the nearest edge.
    """
    from PIL import Image, ImageDraw

    picture = Image.open(io.BytesIO(image)).convert("RGB")
    _frame(ImageDraw.Draw(picture), frame_of(box, picture.width, picture.height), _COLOURS[0], _MARK)
    return _png(picture)


def frame_of(box: Box, width: int, height: int) -> Box:
    """Return the box to frame: the element, or a line at the nearest edge if it is outside."""
    x, y, w, h = box
    if x < width and y < height and x + w > 0 and y + h > 0:
        return box
    (left, w), (top, h) = _within(x, w, width), _within(y, h, height)
    return left, top, w, h


def _within(start: int, length: int, size: int) -> tuple[int, int]:
    """Return start and length of the nearest part whose frame is visible."""
    first, last = (min(max(at, _MARK), size - _MARK) for at in (start, start + length))
    return first, last - first


def _frame(draw: ImageDraw, box: Box, colour: str, width: int) -> None:
    x, y, w, h = box
    draw.rectangle((x - width, y - width, x + w + width - 1, y + h + width - 1), outline=colour, width=width)


def _label(draw: ImageDraw, box: Box, text: str, colour: str) -> None:
    left, top, right, bottom = draw.textbbox((box[0], max(box[1] - 11, 0)), text)
    draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=colour)
    draw.text((box[0], max(box[1] - 11, 0)), text, fill="white")


def _png(picture: object) -> bytes:
    from PIL.Image import Image

    assert isinstance(picture, Image)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=1)
    return out.getvalue()
