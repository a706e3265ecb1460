"""Films: content of frames, escaping of texts, and invalid requests rejected before the episode."""

from __future__ import annotations

import base64
import io
import re
from html import unescape
from pathlib import Path

import pytest

from cairn.agents.evaluation.render import check_film, write_film
from cairn.core.errors import CairnError
from cairn.core.records import Observation, Turn

Image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install -e '.[gui]'")

WHITE, MARK = (255, 255, 255), (0xC1, 0x12, 0x1F)
HOSTILE = "</pre><script>alert(1)</script>\x1b[2J\x00\ud800 {{ 7 * 7 }}"


def picture(colour: tuple[int, int, int] = WHITE, size: tuple[int, int] = (320, 200)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def turn(text: str = "a page", action: str = "click('1')", reward: float = 0.0, **more: object) -> Turn:
    seen = Observation(text=text, anchor=0, image=picture())
    return Turn(observation=seen, reply_text=action, action=action, reward=reward, **more)  # type: ignore[arg-type]


def test_a_gif_has_a_frame_for_every_turn_and_one_for_the_end(tmp_path: Path) -> None:
    final = Observation(text="bought", anchor=1, image=picture((0, 0, 255)))
    write_film(tmp_path / "out.gif", "t", [turn(acted=(40, 50, 60, 20)), turn(reward=1.0)], final, "solved")
    film = Image.open(tmp_path / "out.gif")
    assert (film.n_frames, film.size) == (3, (320, 286))
    corners = []
    for number in range(3):
        film.seek(number)
        frame = film.convert("RGB")
        corners.append((frame.getpixel((38, 48)), frame.getpixel((10, 10))))
        below = frame.crop((0, 200, 320, 286)).getcolors(1 << 16)
        assert len(below) > 10  # something is written there
    assert corners == [(MARK, WHITE), (WHITE, WHITE), ((0, 0, 255), (0, 0, 255))]


def test_a_turn_without_a_picture_shows_the_one_before(tmp_path: Path) -> None:
    write_film(tmp_path / "out.gif", "t", [turn()], Observation(text="over", anchor=1), "failed: the page is gone")
    film = Image.open(tmp_path / "out.gif")
    film.seek(1)
    assert film.convert("RGB").getpixel((10, 10)) == WHITE


@pytest.mark.parametrize("box", [(-500, -500, 20, 20), (310, 190, 400, 400), (5, 9000, 10, 10), (5, 5, 0, 0)])
def test_a_mark_outside_the_picture_does_not_stop_a_film(tmp_path: Path, box: tuple[int, int, int, int]) -> None:
    write_film(tmp_path / "out.gif", "t", [turn(acted=box)], None, "left")
    assert Image.open(tmp_path / "out.gif").n_frames == 2


def test_long_and_odd_texts_fit_below_the_picture(tmp_path: Path) -> None:
    write_film(tmp_path / "out.gif", "t", [turn(HOSTILE, "x" * 100_000 + HOSTILE)], None, HOSTILE)
    film = Image.open(tmp_path / "out.gif").convert("RGB")
    assert {film.getpixel((315, y)) for y in range(200, 286)} == {film.getpixel((2, 284))}  # the margin is empty


def test_a_page_has_the_texts_actions_rewards_and_results(tmp_path: Path) -> None:
    turns = [turn("Start here\nmore", "go"), turn("Error: no way\nmore", "stop", 0.5)]
    write_film(tmp_path / "out.html", "shop: goal/1", turns, Observation(text="The end.\nBye", anchor=1), "solved")
    page = unescape((tmp_path / "out.html").read_text("utf-8"))
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["Turn 1 of 2", "Turn 2 of 2", "The end"]
    assert re.findall(r'<dd class="action">(.*?)</dd>', page) == ["go", "stop"]
    assert re.findall(r"<dt>Reward</dt><dd>(.*?)</dd>", page) == ["0.0", "0.5"]
    assert re.findall(r"<dt>(?:Then|Ending)</dt><dd>(.*?)</dd>", page) == ["Error: no way", "The end.", "solved"]
    assert re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL) == [
        "Start here\nmore",
        "Error: no way\nmore",
        "The end.\nBye",
    ]
    (first, _) = re.findall(r'src="data:image/png;base64,(.*?)"', page)
    assert base64.b64decode(first) == picture()


def test_texts_are_escaped_and_a_page_fetches_nothing(tmp_path: Path) -> None:
    turns = [turn(HOSTILE, HOSTILE), turn(HOSTILE, '" onload="alert(1)')]
    write_film(tmp_path / "out.html", HOSTILE, turns, Observation(text=HOSTILE, anchor=0), HOSTILE)
    page = (tmp_path / "out.html").read_text("utf-8")
    assert "<script" not in page
    assert 'onload="' not in page
    assert "{{ 7 * 7 }}" in page
    assert "\\x1b[2J\\x00\\xd800" in page
    assert "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\"" in page
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []


@pytest.mark.parametrize(
    ("name", "has_pictures", "message"),
    [
        ("out.mp4", True, "ends in .gif or .html"),
        ("out", False, "ends in .gif or .html"),
        ("out.gif", False, "Name a file that ends in .html"),
        ("nowhere/out.html", True, "a folder that is there"),
    ],
)
def test_an_episode_that_cannot_be_filmed_is_rejected(
    tmp_path: Path, name: str, has_pictures: bool, message: str
) -> None:
    with pytest.raises(CairnError, match=re.escape(message)):
        check_film(tmp_path / name, has_pictures=has_pictures)


def test_texts_alone_make_no_gif(tmp_path: Path) -> None:
    text = Turn(observation=Observation(text="a room", anchor=0), reply_text="go", action="go", reward=0.0)
    with pytest.raises(CairnError, match="no pictures"):
        write_film(tmp_path / "out.gif", "t", [text], None, "left")
    write_film(tmp_path / "out.html", "t", [text], None, "left")
    assert "<img" not in (tmp_path / "out.html").read_text("utf-8")
