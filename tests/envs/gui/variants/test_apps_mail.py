"""The mail alone: its tasks, and that one is played by its own id."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")

import cairn
from cairn.cli.main import app
from cairn.envs.gui.tasks import templates
from cairn.envs.gui.variants.apps_mail import MailEnv
from cairn.sandboxes.browser.frames import Frames
from tests.envs.gui.browser import CHROMIUM

pytestmark = [pytest.mark.rotating(4), pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]


def test_tasks_are_those_that_need_no_other_application() -> None:
    found = {task.rpartition("/")[0] for task in cairn.make("gui/apps-mail").tasks()}
    assert found == {name for name, each in templates().items() if each.apps == ("mail",)}


def test_a_task_is_played_to_its_end() -> None:
    env = cairn.make("gui/apps-mail")
    env.reset(seed=0, options={"task": "mail-archive/0"})
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(env.oracle())
    assert (reward, info["success"]) == (1.0, True)
    env.close()


def test_a_search_is_sent_without_waiting_for_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that leaves for another address may make no frame. Here it makes none, and no wait for one times out."""
    env = MailEnv()
    env.reset(seed=0, options={"task": "mail-archive/0"})
    assert env.view is not None
    (box,) = [node.bid for node in env.view.nodes if node.role == "searchbox"]
    env.step(f"fill('{box}', 'keys')")
    make, wait = Frames.make, asyncio.wait
    missing: list[asyncio.Future[object]] = []
    outcomes: list[bool] = []  # of each wait for the missing frame: whether anything happened before its time was over

    def make_all_but_the_first(frames: Frames) -> asyncio.Future[object]:
        if missing:
            return make(frames)
        missing.append(asyncio.get_running_loop().create_future())
        return missing[0]

    async def recorded_wait(futures: Iterable[Any], **given: Any) -> tuple[set[Any], set[Any]]:  # Any: as `wait` has it
        futures = list(futures)
        done, pending = await wait(futures, **given)
        if missing and missing[0] in futures:
            outcomes.append(bool(done))
        return done, pending

    monkeypatch.setattr(Frames, "make", make_all_but_the_first)
    monkeypatch.setattr(asyncio, "wait", recorded_wait)
    env.step(f"press('{box}', 'Enter')")
    assert outcomes
    assert all(outcomes)
    assert not missing[0].done()
    assert "q=keys" in env.view.url
    env.close()


def test_a_film_marks_the_acted_elements(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    sequence = pytest.importorskip("PIL.ImageSequence")
    film = tmp_path / "out.gif"
    arguments = ["--agent", "oracle", "--task", "mail-archive/0", "--render", str(film)]
    assert CliRunner().invoke(app, ["play", "gui/apps-mail", *arguments]).exit_code == 0
    frames = [frame.convert("RGB").getcolors(1 << 24) for frame in sequence.Iterator(image.open(film))]
    near = [sum(count for count, (r, g, b) in each if r > 180 and g < 40 and b < 50) for each in frames]
    assert max(near) > 200, near


def test_the_oracle_passes_over_a_step_that_others_have_done() -> None:
    env = MailEnv()
    env.reset(seed=0, options={"task": "mail-archive/0"})
    moved = str(next(each for each in env._task.steps if each.name == "move").arguments["mail_id"])
    mails = env._world.mail.mails
    mails[moved] = dataclasses.replace(mails[moved], folder="archive")
    terminated = False
    while not terminated:
        _, reward, terminated, _, _ = env.step(env.oracle())
    assert reward == 1
    env.close()
