"""An episode as a filmstrip in one file: per turn what was shown, the action, its reward, and what came of it.

``.gif``: the pictures one after another, what was acted on marked, with a caption below; for environments that show
pictures. ``.html``: one page that needs nothing else, with the texts too; for all. Texts and pictures are others':
the page has no scripts and fetches nothing, and control characters are shown as codes.

It plays nothing, and keeps neither prompts nor tokens.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cairn.core.errors import CairnError, MissingExtraError
from cairn.core.printable import printable
from cairn.core.records import Observation, Turn

ENDINGS = (".gif", ".html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One thing to see, and what was done then."""

    place: str  # such as "turn 1 of 3"
    text: str  # what the agent was told
    image: bytes | None  # PNG, with what was acted on marked
    action: str | None  # None: the episode was over
    reward: float | None
    outcome: str  # the first line of what came of it


def check_film(file: Path, *, has_pictures: bool) -> None:
    """Refuse what no film can be made of, before anything is played.

    Raises:
        CairnError: the file has another ending, its folder is not there, or there are no pictures for a GIF.
        MissingExtraError: what makes pictures is not installed.
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
            import PIL  # noqa: F401  (whether it is there)
        except ImportError:
            raise MissingExtraError("A film with pictures", "gui") from None


def write_film(file: Path, title: str, turns: Sequence[Turn], final: Observation | None, ending: str) -> None:
    """Write the film of an episode.

    Args:
        file: where to; see `check_film`.
        title: such as the environment and its task.
        turns: all, or those up to where the player left.
        final: what the last turn led to; None: nothing was shown any more.
        ending: how it ended, in a few words.

    Raises:
        CairnError: a GIF of turns without pictures.
    """
    frames = _frames(turns, final, printable(ending))
    if file.suffix == ".html":
        file.write_text(_page(printable(title), frames), encoding="utf-8")
        return
    from cairn.agents._strip import write_gif

    if not any(frame.image for frame in frames):
        raise CairnError(f"There are no pictures for {str(file)!r}: name a file that ends in .html")
    write_gif(file, frames)


def _frames(turns: Sequence[Turn], final: Observation | None, ending: str) -> list[Frame]:
    after = [turn.observation.text for turn in turns[1:]] + ([final.text] if final is not None else [ending])
    frames = [
        Frame(
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
    return [*frames, Frame(place="the end", text=text, image=image, action=None, reward=None, outcome=ending)]


def _marked(turn: Turn) -> bytes | None:
    image = turn.observation.image
    if image is None or turn.acted is None:
        return image
    from cairn.envs.gui.picture import with_frame

    return with_frame(image, turn.acted)


def _first_line(text: str) -> str:
    return printable(text.strip().partition("\n")[0])


def _page(title: str, frames: Sequence[Frame]) -> str:
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
