"""Renders an episode as one file: an HTML page or an animated GIF with one frame per turn.

``.gif``: screenshots with the acted-on element marked and a caption below, for environments with images. ``.html``: a
self-contained page that also has the texts, for all environments. Texts and images are untrusted: the page has no
scripts and loads nothing, and control characters are shown as codes.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFont

from cairn.core.errors import CairnError, MissingExtraError
from cairn.core.records import Observation, Turn
from cairn.core.text import printable

if TYPE_CHECKING:
    pass


ENDINGS = (".gif", ".html")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFrame:
    """One frame: an observation, the action and its outcome."""

    place: str  # such as "turn 1 of 3"
    text: str  # the observation
    image: bytes | None  # PNG with the acted-on element marked
    action: str | None  # None: the episode was over
    reward: float | None
    outcome: str  # first line of the next observation


def check_film(file: Path, *, has_pictures: bool) -> None:
    """Check before playing that a file can be rendered.

    Raises:
        CairnError: the file has another suffix, its folder does not exist, or there are no images for a GIF.
        MissingExtraError: Pillow is not installed.
    """
    if file.suffix not in ENDINGS:
        raise CairnError(f"Expected a file that ends in .gif or .html for the film, got {str(file)!r}")
    if not file.parent.is_dir() or file.is_dir():
        raise CairnError(f"The film cannot be written to {str(file)!r}: expected a file in a folder that is there")
    if file.suffix == ".gif" and not has_pictures:
        raise CairnError(
            f"There are no pictures for {str(file)!r}: the environment shows texts, or image=false is set."
            " Name a file that ends in .html."
        )
    if has_pictures:
        try:
            import PIL  # noqa: F401  (checks that it is installed)
        except ImportError:
            raise MissingExtraError("A film with pictures", "gui") from None


def write_film(file: Path, title: str, turns: Sequence[Turn], final: Observation | None, ending: str) -> None:
    """Write an episode to a file.

    Args:
        file: output file; see `check_film`.
        title: such as the environment and its task.
        turns: all turns, or those before the player left.
        final: the observation after the last turn; None: not available.
        ending: how it ended, in a few words.

    Raises:
        CairnError: a GIF of turns without images.
    """
    frames = _frames(turns, final, printable(ending))
    if file.suffix == ".html":
        file.write_text(_page(printable(title), frames), encoding="utf-8")
        return
    pass

    if not any(frame.image for frame in frames):
        raise CairnError(f"There are no pictures for {str(file)!r}: name a file that ends in .html")
    write_gif(file, frames)


def _frames(turns: Sequence[Turn], final: Observation | None, ending: str) -> list[RenderedFrame]:
    after = [turn.observation.text for turn in turns[1:]] + ([final.text] if final is not None else [ending])
    frames = [
        RenderedFrame(
            place=f"turn {number} of {len(turns)}",
            text=printable(turn.observation.text),
            image=_marked(turn),
            action=printable(turn.action),
            reward=turn.reward,
            outcome=_first_line(came),
        )
        for number, (turn, came) in enumerate(zip(turns, after[: len(turns)], strict=True), 1)
    ]
    text, image = (printable(final.text), final.image) if final is not None else ("", None)
    return [*frames, RenderedFrame(place="the end", text=text, image=image, action=None, reward=None, outcome=ending)]


def _marked(turn: Turn) -> bytes | None:
    image = turn.observation.image
    if image is None or turn.acted is None:
        return image
    from cairn.envs.gui.picture import with_frame

    return with_frame(image, turn.acted)


def _first_line(text: str) -> str:
    return printable(text.strip().partition("\n")[0])


def _page(title: str, frames: Sequence[RenderedFrame]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pictures = [None if frame.image is None else base64.b64encode(frame.image).decode() for frame in frames]
    return templates.get_template("film.html").render(title=title, frames=list(zip(frames, pictures, strict=True)))


_SHOWN_MS, _LAST_MS = 1500, 4000
_TEXT, _LINE, _MARGIN = 16, 22, 10  # pixels
_NUM_LINES = 3
_MOST_CHARS = 1000  # of a line; no image has room for more
_INK, _PAPER, _QUIET = "#1d2327", "#f4f6f7", "#545d64"


def write_gif(file: Path, frames: Sequence[RenderedFrame]) -> None:
    """Write the frames as a GIF; all have the size of the first image.

    A frame without an image shows the previous one.
    """
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


def _captioned(shown: Image.Image, size: tuple[int, int], frame: RenderedFrame) -> Image.Image:
    """Return an image with three lines below it: place and reward, action, outcome."""
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
    """Return a line, truncated to the available width."""
    line = line.replace("\n", " ")[:_MOST_CHARS]
    if draw.textlength(line, font) <= room:
        return line
    most = len(line)
    while most and draw.textlength(f"{line[:most]}...", font) > room:
        most -= 1
    return f"{line[:most]}..."
