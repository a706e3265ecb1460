"""Results of the benchmark of environments in a browser, and that it measures real pages."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cairn.benchmarks.envs import _browsergym, _gui_agents, _gui_speed, _gui_steady, gui
from cairn.benchmarks.envs._browsergym import Played as Theirs
from cairn.benchmarks.envs._gui_speed import Speed, Start, TimedPlay
from cairn.benchmarks.envs._processor import descendants_seconds
from cairn.benchmarks.outcome import Row
from cairn.core.errors import CairnError


def _played(pages: int, steps: int, failed: int = 0) -> TimedPlay:
    return TimedPlay(
        pages=pages, seconds=2.0, steps=steps, episodes=4, step_s=1.0, failed=failed, cores={"python": 0.5}
    )


def _start(reset_ms: float, goto_ms: float, characters: int) -> Start:
    return Start(task="a/0", reset_ms=reset_ms, goto_ms=goto_ms, look_ms=3, tell_ms=1, characters=characters)


def _speed(*, one: int = 50, many: int = 95, failed: int = 0) -> Speed:
    starts = (_start(30, 10, 100), _start(50, 40, 200), _start(60, 50, 600))
    return Speed(one=_played(1, one), many=_played(8, many, failed), starts=starts, first_mb=100, page_mb=20)


def _holds(rows: list[Row]) -> dict[str, object]:
    return {str(row["name"]): row["holds"] for row in rows if row["bar"] is not None}


def test_speed_by_hand() -> None:
    """One page: 50 steps in 2 s, of which 1 s in steps, 20 ms each; eight: 95 in 2 s, 1.9 times as many.

    Ratios of beginnings: 3, 1.25, 1.2, of which 1.25 is the median, though the medians' own ratio is the same by
    chance: 50 / 40. Characters: 300 in the mean, 75 tokens at 4 a token.
    """
    rows = list(gui.speed_rows("gui/apps", _speed()))
    values = {str(row["name"]): row["value"] for row in rows}
    assert values["gui/apps: one page, steps/s, resets counted"] == 25
    assert values["gui/apps: 8 pages, episodes/s"] == 2
    assert values["gui/apps: 8 pages against one"] == 1.9
    assert values["gui/apps: a step"] == 20
    assert values["gui/apps: a reset, median of the pages' medians"] == 50
    assert values["gui/apps: a reset over a bare page.goto, median of pages"] == 1.25
    assert values["gui/apps: an observation, estimated"] == 75
    assert set(_holds(rows).values()) == {True}


def test_bars_of_speed_can_fail() -> None:
    rows = _holds(list(gui.speed_rows("gui/apps", _speed(many=89, failed=1))))
    assert rows["gui/apps: 8 pages against one"] is False  # 1.78
    assert rows["gui/apps: 8 pages, episodes that failed"] is False
    assert rows["gui/apps: one page, episodes that failed"] is True


def test_where_nothing_is_kept_a_reset_is_held_to_its_bar() -> None:
    rows = list(gui.anew_rows(_speed()))
    assert [row["value"] for row in rows] == [25, 47.5, 50, 1.25]
    assert list(_holds(rows).values()) == [True]
    kept = _holds(list(gui.speed_rows("gui/miniwob", _speed())))
    assert not any("goto" in name for name in kept)


def test_beside_browsergym_by_hand() -> None:
    """Ours: 50 steps/s of stepping, 20 resets/s. Theirs: 5 and 1; in a hurry 25 and 1, which is held to no bar."""
    theirs = Theirs(steps=10, step_s=2, resets=3, reset_s=3, characters=600, memory_mb=400)
    hurried = Theirs(steps=10, step_s=0.4, resets=3, reset_s=3, characters=600, memory_mb=400)
    rows = list(gui.beside_rows(_speed(), theirs, hurried))
    values = [row["value"] for row in rows]
    # episodes: 4 in 2 s, theirs 3 in 5 s and in 3.4 s
    assert values == pytest.approx([10, 20, 10 / 3, 0.25, 0.5, 2, 20, 2 * 3.4 / 3, 0.25, 0.5])
    assert list(_holds(rows).values()) == [True, True]
    slower = Theirs(steps=11, step_s=1, resets=3, reset_s=2.9, characters=600, memory_mb=400)
    assert list(_holds(list(gui.beside_rows(_speed(), slower, hurried))).values()) == [False, False]


def test_errors_of_browsergym_are_raised(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no module >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(CairnError, match="ended with 3: no module"):
        _browsergym.play(program, ("click-test",), 1.0)


def test_browsergym_is_asked_for_the_same_and_finds_our_chromium(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$2" > {tmp_path}/asked\n'
        f'cat "$PLAYWRIGHT_BROWSERS_PATH/chromium-1117/chrome-linux/chrome" > {tmp_path}/chrome\n'
        'echo a warning; echo \'{"steps":4,"step_s":2,"resets":1,"reset_s":4,"characters":9,"memory_mb":1}\'\n'
    )
    program.chmod(0o755)
    found = _browsergym.play(program, ("click-test",), 1.5, hurried=True)
    assert (found.step_rate, found.reset_rate) == (2, 0.25)
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked == {"pages": ["click-test"], "seconds": 1.5, "turns": _gui_speed.TURNS, "hurried": True}
    assert (tmp_path / "chrome").read_text().splitlines()[1].endswith('"$@"')


def test_processor_time_of_a_child_is_found() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as child:
        try:
            before = descendants_seconds().get("sh", 0.0)
            spent = before
            while spent < before + 0.2:
                spent = descendants_seconds().get("sh", 0.0)
        finally:
            child.kill()
    assert spent >= before + 0.2
    assert os.getpid() != child.pid


@pytest.mark.slow
@pytest.mark.xdist_group("memory")
def test_real_pages_are_measured() -> None:
    speed = _gui_speed.measure("gui/apps", gui.tasks_for_speed("gui/apps")[:2], 2, 1.0)
    assert speed.one.pages == 1
    assert speed.many.pages == 2
    assert speed.one.failed == speed.many.failed == 0
    assert speed.one.steps > 0
    assert 0 < speed.one.step_s <= speed.one.seconds
    assert any("chrom" in program for program in speed.one.cores)
    assert len(speed.starts) == 2
    for start in speed.starts:
        assert start.reset_ms > start.look_ms > 0
        assert start.goto_ms > 0
        assert start.characters > 500  # the goal and the actions alone have more
    assert speed.first_mb > 20


@pytest.mark.rotating(3)
@pytest.mark.xdist_group("memory")
def test_real_resets_are_measured() -> None:
    found = _gui_steady.grown("gui/apps", gui.tasks_for_speed("gui/apps")[:2], (2, 4))
    assert len(found) == 2
    assert all(mb > 20 and own > 20 and files > 3 for mb, own, files in found)


@pytest.mark.rotating(4)
@pytest.mark.xdist_group("memory")
def test_the_oracle_wins_and_nothing_does_not() -> None:
    tasks = gui.tasks_for_speed("gui/apps")[:2]
    assert _gui_agents.share("gui/apps", "oracle", tasks) == (1.0, 1.0, 0)
    assert _gui_agents.share("gui/apps", "nothing", tasks)[0] == 0.0


@pytest.mark.slow
def test_a_quick_run_lists_the_omitted_measurements() -> None:
    names = [str(row["name"]) for row in gui.measure(quick=True).rows]
    assert any(name.startswith("gui/apps: a reset over") for name in names)
    assert any("not measured" in name for name in names)
