"""The frames of a film as an animated GIF: each picture with its caption below."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from cairn.agents.film import Frame

_SHOWN_MS, _LAST_MS = 1500, 4000
_TEXT, _LINE, _MARGIN = 16, 22, 10  # pixels
_NUM_LINES = 3
_MOST_CHARS = 1000  # of a line; more has no room in any picture
_INK, _PAPER, _QUIET = "#1d2327", "#f4f6f7", "#545d64"


def write_gif(file: Path, frames: Sequence[Frame]) -> None:
    """Write the frames; one without a picture shows the one before, and all have the size of the first picture."""
    first = next(frame.image for frame in frames if frame.image is not None)
    shown = Image.open(io.BytesIO(first)).convert("RGB")
    size = shown.size
    strip = []
    for frame in frames:
        if frame.image is not None:
            shown = Image.open(io.BytesIO(frame.image)).convert("RGB")
        strip.append(_captioned(shown, size, frame))
    durations = [_SHOWN_MS] * (len(strip) - 1) + [_LAST_MS]
    strip[0].save(file, "GIF", save_all=True, append_images=strip[1:], duration=durations, loop=0, optimize=False)


def _captioned(shown: Image.Image, size: tuple[int, int], frame: Frame) -> Image.Image:
    """Return a picture with its lines below: place and reward, action, outcome."""
    width, height = size
    picture = Image.new("RGB", (width, height + _NUM_LINES * _LINE + 2 * _MARGIN), _PAPER)
    picture.paste(shown.crop((0, 0, width, height)))
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(_TEXT)
    reward = "" if frame.reward is None else f"   reward {frame.reward:g}"
    lines = ((f"{frame.place}{reward}", _QUIET), (frame.action or "", _INK), (frame.outcome, _INK))
    for at, (line, colour) in enumerate(lines):
        y = height + _MARGIN + at * _LINE
        draw.text((_MARGIN, y), _fitting(draw, font, line, width - 2 * _MARGIN), fill=colour, font=font)
    return picture.quantize(256)


def _fitting(
    draw: ImageDraw.ImageDraw, font: ImageFont.ImageFont | ImageFont.FreeTypeFont, line: str, room: int
) -> str:
    """Return as much of a line as there is room for."""
    line = line.replace("\n", " ")[:_MOST_CHARS]
    if draw.textlength(line, font) <= room:
        return line
    most = len(line)
    while most and draw.textlength(f"{line[:most]}...", font) > room:
        most -= 1
    return f"{line[:most]}..."
