"""Recordings: stored parts of an episode, files that are read back unchanged, and rejected files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.core.errors import CairnError, MissingDataError
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.recorder import GuiRecorder
from cairn.envs.gui.recording import TakenAction, recorded
from cairn.envs.gui.recording_file import read, write
from cairn.envs.gui.variants.apps_mail import MailEnv
from tests.envs.gui.recordings import EPISODE, HOSTILE, MOVES, SEARCH, recording, shown, written

pytestmark = pytest.mark.rotating(4)

Json = dict[str, Any]  # Any: JSON
TASK = "mail-archive/0"
run = CliRunner()


# -- files -----------------------------------------------------------------------------------------------------------


def odd() -> Any:
    """Return a recording with values that are hard to store."""
    first = replace(
        MOVES[0],
        shown=Observation(text=HOSTILE, anchor=(1 << 64) - 1, admissible=None, image=bytes(range(256))),
        taken=TakenAction(
            call=GuiCall(name="fill", arguments={"bid": HOSTILE, "value": HOSTILE}),
            element=replace(SEARCH, name=HOSTILE, box=(-5, 0, 0, 3)),
        ),
        reward=0.1 + 0.2,
    )
    cut = replace(
        EPISODE, task_id=HOSTILE, moves=(first, *MOVES), ending=Ending.truncated("turns"), score=0.0, success=False
    )
    return recording(EPISODE, cut)


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.jsonl.gz"])
def test_a_recording_is_read_back_unchanged(name: str, tmp_path: Path) -> None:
    write(odd(), tmp_path / name)
    assert read(tmp_path / name) == odd()


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.jsonl.gz"])
def test_equal_recordings_are_equal_files(name: str, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write(odd(), tmp_path / folder / name)
    first, second = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
    assert first == second
    assert not name.endswith(".gz") or first[4:8] == bytes(4)  # gzip's time, of whole seconds


def test_a_call_with_arguments_in_another_order_is_read_back(tmp_path: Path) -> None:
    call = GuiCall(name="fill", arguments={"value": "Garden fence", "bid": "2"})
    path = written(tmp_path, moves=(replace(MOVES[1], taken=TakenAction(call=call, element=None)),))
    assert read(Path(path)).episodes[0].moves[0].taken.call.arguments == {"bid": "2", "value": "Garden fence"}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("mine")
    with pytest.raises(CairnError, match="already"):
        write(recording(), tmp_path / "mine.jsonl")
    assert (tmp_path / "mine.jsonl").read_text() == "mine"


def test_the_error_of_a_missing_file_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="cairn envs record"):
        read(tmp_path / "none.jsonl")


def test_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(CairnError, match="Cannot"):
        read(tmp_path)
    with pytest.raises(CairnError, match="Cannot write"):
        write(recording(), tmp_path / "no" / "folder.jsonl")


FAULTS: list[tuple[Callable[[Json, Json], object], str]] = [  # a change to the two lines -> the error
    (lambda head, line: head.update(cairn_gui_recording=2), r"line 1: 'cairn_gui_recording' must be version 1"),
    (lambda head, line: head.update(cairn_gui_recording=True), "line 1: 'cairn_gui_recording' must be a whole number"),
    (lambda head, line: head.pop("cairn_gui_recording"), "expected a recording"),
    (lambda head, line: head.update(functions=["click", "rm"]), "line 1: 'functions' must be some of click"),
    (lambda head, line: head.update(functions="click"), "line 1: 'functions' must be a list of texts"),
    (lambda head, line: head.update(settings=[]), "line 1: 'settings' must be an object"),
    (lambda head, line: head.update(env=None), "line 1: 'env' must be a text; got None"),
    (lambda head, line: line.pop("goal"), "line 2: the field 'goal' is missing"),
    (lambda head, line: line.update(gaol=1), "line 2: unknown field 'gaol'"),
    (lambda head, line: line.update(moves=[]), "line 2: 'moves' must be one move or more"),
    (lambda head, line: line.update(moves={}), "line 2: 'moves' must be a list"),
    (lambda head, line: line.update(score=float("nan")), "line 2: 'score' must be a finite number"),
    (lambda head, line: line.update(score=True), "line 2: 'score' must be a finite number"),
    (lambda head, line: line.update(success=1), "line 2: 'success' must be true or false"),
    (lambda head, line: line.update(ending="failed"), "line 2: 'ending' must be 'terminated'"),
    (lambda head, line: line.update(ending="truncated", cause=[]), "line 2: 'ending' must be 'terminated'"),
    (lambda head, line: line.update(seed=1.5), "line 2: 'seed' must be a whole number; got 1.5"),
    (lambda head, line: line["moves"].append(3), r"line 2, moves\[3\]: expected a JSON object, got 3"),
    (lambda head, line: line["moves"][1].update(call="__import__('os')"), r"line 2, moves\[1\]: 'call' must be a call"),
    (lambda head, line: line["moves"][1].update(call="hover('1')"), r"line 2, moves\[1\]: 'call' must be a call"),
    (lambda head, line: line["moves"][0]["element"].update(box=[1, 2]), r"moves\[0\], element: 'box' must be a list"),
    (lambda head, line: line["moves"][0]["shown"].update(anchor=1 << 64), "shown: 'anchor' must be a number of 64"),
    (lambda head, line: line["moves"][0]["shown"].update(anchor=-1), "shown: 'anchor' must be a number of 64 bits"),
    (lambda head, line: line["moves"][0]["shown"].update(image="?"), "shown: 'image' must be base64"),
    (lambda head, line: line["final"].update(admissible=[1]), "final: 'admissible' must be a list of texts"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), FAULTS, ids=[said for _, said in FAULTS])
def test_an_invalid_line_is_rejected_with_its_place(
    change: Callable[[Json, Json], object], said: str, tmp_path: Path
) -> None:
    file = Path(written(tmp_path))
    head, line = map(json.loads, file.read_text().splitlines())
    change(head, line)
    file.write_text(f"{json.dumps(head)}\n{json.dumps(line)}\n")
    with pytest.raises(CairnError, match=said):
        read(file)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "expected a recording"),
        (b"not JSON\n", "line 1: expected JSON"),
        (b"[" * 100_000, "line 1: expected JSON"),
        (b"\xff\n", "line 1: expected JSON"),
        (b"3\n", "line 1: expected a JSON object, got 3"),
    ],
)
def test_other_files_are_refused(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_bytes(data)
    with pytest.raises(CairnError, match=said):
        read(tmp_path / "other.jsonl")


@pytest.mark.parametrize("data", [b"not compressed", gzip.compress(b"{}" * 1000, mtime=0)[:-20]], ids=["text", "torn"])
def test_a_file_with_the_wrong_compression_for_its_name_is_rejected(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl.gz").write_bytes(data)
    with pytest.raises(CairnError, match="Cannot read"):
        read(tmp_path / "other.jsonl.gz")


def test_a_recording_without_episodes_is_refused(tmp_path: Path) -> None:
    write(replace(recording(), episodes=()), tmp_path / "none.jsonl")
    with pytest.raises(CairnError, match="one episode or more"):
        read(tmp_path / "none.jsonl")


# -- stored parts of an episode ----------------------------------------------------------------------------------------


def played(*actions: str, ending: Ending | None = None) -> Episode:
    turns = tuple(Turn(observation=shown(at), reply_text=a, action=a, reward=0.0) for at, a in enumerate(actions))
    ending = ending or Ending.terminated()
    score, success = (None, None) if ending.kind == "failed" else (1.0, True)
    return Episode(
        task=Task(env_id="e", task_id=TASK, seed=3), group_id=0, turns=turns, ending=ending, score=score,
        success=success, final=None if score is None else shown(len(actions)),
    )  # fmt: skip


def test_turns_without_a_call_are_left_out_with_their_errors() -> None:
    taken = TakenAction(call=GuiCall(name="noop"), element=None)
    episode = recorded(played("?", "noop()", "?", "??", "noop()"), [None, taken, None, None, taken], "goal", "kind")
    assert episode is not None
    assert [move.shown.anchor for move in episode.moves] == [1000, 1002]  # before the first mistake of a row
    assert (episode.task_id, episode.seed, episode.final.anchor) == (TASK, 3, 1005)


def test_an_episode_without_a_call_is_not_recorded() -> None:
    assert recorded(played("?"), [None], "goal", "kind") is None


def test_an_episode_that_failed_is_not_recorded() -> None:
    with pytest.raises(ValueError, match="did not fail"):
        recorded(played(ending=Ending.failed("sandbox", "gone")), [], "goal", "kind")


@pytest.fixture(scope="module")
def recorder() -> Iterator[GuiRecorder]:
    env = MailEnv()
    yield GuiRecorder(env)
    env.close()


def elements(recorder: GuiRecorder, *actions: str) -> list[Any]:
    recorder.reset(seed=0, options={"task": TASK})
    for action in actions:
        recorder.step(action)
    record = recorder.recorded(played(*actions))
    return [] if record is None else [move.taken.element for move in record.moves]


def test_elements_are_noted_by_number_and_by_point(recorder: GuiRecorder) -> None:
    recorder.reset(seed=0, options={"task": TASK})
    assert recorder.env.view is not None
    node = next(node for node in recorder.env.view.nodes if (node.role, node.name) == ("button", "Search"))
    x, y, width, height = node.box
    by_number, by_point, missing, nowhere, none = elements(
        recorder, f"click('{node.bid}')", f"mouse_click({x + width // 2}, {y + height // 2})", "click('0')",
        "mouse_click(1023, 0)", "noop()",
    )  # fmt: skip
    assert (by_number.bid, by_number.role, by_number.name, by_number.box) == (node.bid, "button", "Search", node.box)
    assert by_point == by_number
    assert missing is nowhere is none is None


def test_a_malformed_call_is_not_recorded(recorder: GuiRecorder) -> None:
    assert elements(recorder, "click", "go_back()", f"fill('1', '{'a' * 5000}')") == []


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_records_an_agent(tmp_path: Path) -> None:
    out = tmp_path / "mail.jsonl.gz"
    done = run.invoke(app, ["envs", "record", "gui/apps-mail", "--out", str(out), "--tasks", "2", "--json"])
    assert done.exit_code == 0, done.output
    said, found = json.loads(done.stdout), read(out)
    assert (found.env_id, found.settings["split"], [e.success for e in found.episodes]) == (
        "gui/apps-mail", "train", [True, True],
    )  # fmt: skip
    assert "browser" not in found.settings
    assert said == {
        "file": str(out), "episodes": 2, "moves": sum(len(e.moves) for e in found.episodes), "left_out": {},
        "bytes": out.stat().st_size,
    }  # fmt: skip


def test_the_command_stores_only_solved_episodes_by_default(tmp_path: Path) -> None:
    asked = ["envs", "record", "gui/apps-mail", "--tasks", "1", "--agent", "constant:send_msg_to_user('0')"]
    done = run.invoke(app, [*asked, "--out", str(tmp_path / "a.jsonl")])
    assert done.exit_code == 2
    assert "{'not solved': 1}" in done.stderr
    done = run.invoke(app, [*asked, "--out", str(tmp_path / "b.jsonl"), "--unsolved"])
    assert done.exit_code == 0
    assert not read(tmp_path / "b.jsonl").episodes[0].success
    assert not (tmp_path / "a.jsonl").exists()


def test_the_command_rejects_environments_without_pages_and_existing_files(tmp_path: Path) -> None:
    done = run.invoke(app, ["envs", "record", "tests.envs.faulty:Sound", "--out", str(tmp_path / "a.jsonl")])
    assert done.exit_code == 2
    assert "not played in a browser" in done.stderr
    (tmp_path / "b.jsonl").touch()
    done = run.invoke(app, ["envs", "record", "gui/apps-mail", "--out", str(tmp_path / "b.jsonl")])
    assert (done.exit_code, "already" in done.stderr) == (2, True)
