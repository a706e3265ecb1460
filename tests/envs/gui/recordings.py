"""A recording of three actions, written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cairn.core.records import Ending, Observation
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.recording import Element, Move, RecordedEpisode, Recording, TakenAction
from cairn.envs.gui.recording_file import write

FUNCTIONS = ("click", "fill", "clear", "scroll", "mouse_click", "noop", "send_msg_to_user")
SEARCH = Element(bid="1", role="button", name="Search", box=(100, 40, 50, 20))
FIELD = Element(bid="2", role="textbox", name="Subject", box=(100, 80, 200, 20))
HOSTILE = 'a "quoted" \ud800 line\n{}\u2028\x00'


def shown(count: int) -> Observation:
    """Return the observation before an action, or after the last one."""
    reported = f'Page "Mail {count}" at "http://mail/{count}"\n[1] button "Search"'
    text = (
        f"Goal: Write it.\n\nActions\n\n{reported}"
        if count == 0
        else f'Error: Of before.\nNoticed: "alert"\n{reported}'
    )
    return Observation(text=text, anchor=1000 + count, admissible=("click('1')", "click('2')"))


def move(count: int, call: GuiCall, element: Element | None, reward: float = 0.0) -> Move:
    """Return one action of the recording."""
    return Move(shown=shown(count), taken=TakenAction(call=call, element=element), reward=reward)


MOVES = (
    move(0, GuiCall(name="click", arguments={"bid": "1"}), SEARCH),
    move(1, GuiCall(name="fill", arguments={"bid": "2", "value": "Garden fence"}), FIELD),
    move(2, GuiCall(name="send_msg_to_user", arguments={"text": "Done."}), None, 1.0),
)
EPISODE = RecordedEpisode(
    task_id="mail/0",
    task_type="simple",
    seed=7,
    goal="Write it.",
    moves=MOVES,
    final=Observation(text="The task is over.", anchor=1003, admissible=()),
    ending=Ending.terminated(),
    score=1.0,
    success=True,
)


def recording(*episodes: RecordedEpisode) -> Recording:
    """Return a recording of these episodes, or of the one above."""
    return Recording(
        env_id="gui/apps-mail", env_version=1, settings={}, functions=FUNCTIONS, episodes=episodes or (EPISODE,)
    )


def written(folder: Path, *episodes: RecordedEpisode, **changes: Any) -> str:  # Any: fields of RecordedEpisode
    """Write a recording and return its path; `changes` are of the episode above."""
    file = folder / "recording.jsonl"
    write(recording(*(episodes or (replace(EPISODE, **changes),))), file)
    return str(file)
