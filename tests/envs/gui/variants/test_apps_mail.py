"""The mail alone: its tasks, and that one is played by its own id."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install 'cairn-rl[gui]'")

import cairn
from cairn.envs.gui.tasks import templates
from tests.envs.gui.browser import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def test_tasks_are_those_that_need_no_other_application() -> None:
    found = {task.rpartition("/")[0] for task in cairn.make("gui/apps-mail").tasks()}
    assert found == {name for name, each in templates().items() if each.apps == ("mail",)}


def test_a_task_is_played_to_its_end() -> None:
    env = cairn.make("gui/apps-mail")
    env.reset(seed=0, options={"task": "mail-archive/0"})
    is_over = False
    while not is_over:
        _, reward, is_over, _, info = env.step(env.oracle())
    assert (reward, info["success"]) == (1.0, True)
    env.close()
