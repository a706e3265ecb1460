"""Pictures of pages: what is in the window as a PNG, with elements' numbers over it, or one element marked."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from cairn.core.records import Box

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

    from cairn.envs.gui.looking import View
    from cairn.sandboxes.tab import Tab

_MARK = 3  # pixels of a mark's line
_COLOURS = ("#c1121f", "#1d3557", "#2a6f2b", "#7b2cbf", "#b35c00", "#006d77")


async def screenshot(tab: Tab, marked: View | None) -> bytes:
    """Return what is in the window, as a PNG; with a view, each element's number stands at its corner."""
    answer = await tab.send("Page.captureScreenshot", format="png", optimizeForSpeed=True)
    image = base64.b64decode(answer["data"])
    return image if marked is None else with_numbers(image, marked)


def with_numbers(image: bytes, view: View) -> bytes:
    """Return a picture of a page with a frame around every element in sight, and its number."""
    from PIL import Image, ImageDraw

    picture = Image.open(io.BytesIO(image)).convert("RGB")
    draw = ImageDraw.Draw(picture)
    for count, node in enumerate(node for node in view.nodes if node.bid and view.is_in_sight(node)):
        colour = _COLOURS[count % len(_COLOURS)]
        _frame(draw, node.box, colour, 1)
        _label(draw, node.box, node.bid, colour)
    return _png(picture)


def with_frame(image: bytes, box: Box) -> bytes:
    """Return a picture of a page with one element marked; one out of sight by a bar at the edge that it lies beyond."""
    from PIL import Image, ImageDraw

    picture = Image.open(io.BytesIO(image)).convert("RGB")
    draw, (x, y, w, h) = ImageDraw.Draw(picture), box
    if x < picture.width and y < picture.height and x + w > 0 and y + h > 0:
        _frame(draw, box, _COLOURS[0], _MARK)
    else:
        (left, right), (top, bottom) = _edge(x, w, picture.width), _edge(y, h, picture.height)
        draw.rectangle((left, top, right, bottom), fill=_COLOURS[0])
    return _png(picture)


def _edge(start: int, length: int, size: int) -> tuple[int, int]:
    """Return from where to where a bar goes that shows, within a picture, where something lies."""
    first = min(max(start, 0), size - 2 * _MARK)
    return first, min(max(start + length, first + 2 * _MARK), size) - 1


def _frame(draw: ImageDraw, box: Box, colour: str, width: int) -> None:
    x, y, w, h = box
    draw.rectangle((x - width, y - width, x + w + width, y + h + width), outline=colour, width=width)


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
