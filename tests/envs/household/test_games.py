"""Where games come from: compact files and the original layout, missing and damaged data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import cairn
from cairn.core.errors import CairnError, MissingDataError, UnknownNameError
from cairn.envs.household import archive
from cairn.envs.household.archive import LineArchive
from cairn.envs.household.env import HouseholdEnv
from cairn.envs.household.games import open_split
from tests.envs.household import tiny

_ID = "pick_and_place_simple-Apple-None-Fridge-1/trial_T1"


def _row(number: int = 1, **changes: Any) -> dict[str, Any]:  # Any: a line of JSON
    row = {"id": f"{_ID}{number}", "task": "Your task is to: put a apple in fridge.", "pddl_problem": tiny.problem()}
    return {**row, **changes}


def _write_compact(root: Path, rows: list[Any], split: str = "train") -> Path:
    path = root / "alfworld" / f"{split}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def _write_original(root: Path, row: dict[str, Any], split: str = "train") -> None:
    folder = root / "json_2.1.1" / split / row["id"]
    folder.mkdir(parents=True)
    grammar = '"task": [ { "rhs": "' + row["task"] + '" } ],'
    game = {
        "pddl_domain": "",
        "grammar": grammar,
        "pddl_problem": row["pddl_problem"],
        "solvable": True,
        "walkthrough": [],
    }
    (folder / "game.tw-pddl").write_text(json.dumps(game))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path))
    return tmp_path


def test_a_compact_file_is_played_by_its_ids(root: Path) -> None:
    _write_compact(root, [_row(1), _row(2)])
    env = cairn.make("household", split="train")
    assert list(env.tasks()) == [f"train/{_ID}1", f"train/{_ID}2"]
    text, info = env.reset(options={"task": f"train/{_ID}2"})
    assert text.endswith("Your task is to: put a apple in fridge.")
    assert info["task_id"] == f"train/{_ID}2"
    assert isinstance(env, HouseholdEnv)
    assert env.task_type(f"train/{_ID}1") == "pick_and_place_simple"


def test_cairn_data_may_point_at_the_folder_itself(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_compact(root, [_row(1)])
    monkeypatch.setenv("CAIRN_DATA", str(root / "alfworld"))
    assert len(open_split("train").ids) == 1


@pytest.mark.parametrize("variable", ["CAIRN_DATA", "ALFWORLD_DATA"])
def test_the_original_layout_gives_the_same_houses(root: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.delenv("CAIRN_DATA")
    monkeypatch.setenv(variable, str(root / "original"))
    _write_original(root / "original", _row(1))
    original = open_split("train")
    monkeypatch.setenv("CAIRN_DATA", str(root))
    _write_compact(root, [_row(1)])
    compact = open_split("train")
    assert original is not compact
    assert original.ids == compact.ids
    assert original.house(original.ids[0]) == compact.house(compact.ids[0])


def test_real_games_in_the_original_layout_equal_the_compact_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gzip.open(tiny.data_folder() / "valid_seen.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file][:10]
    for row in rows:
        _write_original(tmp_path, row, "valid_seen")
    compact = open_split("valid_seen")
    monkeypatch.delenv("CAIRN_DATA")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    original = open_split("valid_seen")
    assert set(original.ids) == set(compact.ids[:10])
    assert all(original.house(task) == compact.house(task) for task in original.ids)


def test_environments_share_a_split(root: Path) -> None:
    _write_compact(root, [_row(1)])
    assert open_split("train") is open_split("train")
    assert HouseholdEnv(split="train").house(f"train/{_ID}1") is HouseholdEnv(split="train").house(f"train/{_ID}1")


def test_missing_data_names_the_places_and_the_variables(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingDataError, match=r"alfworld/valid_seen.jsonl.gz.*json_2.1.1/valid_seen.*Set CAIRN_DATA"):
        HouseholdEnv(split="valid_seen")
    monkeypatch.delenv("CAIRN_DATA")
    with pytest.raises(MissingDataError, match=r"neither variable is set.*CAIRN_DATA.*ALFWORLD_DATA"):
        HouseholdEnv(split="valid_seen")


def test_a_split_without_games_of_the_types_asked_for_is_refused(root: Path) -> None:
    _write_compact(root, [_row(1)])
    with pytest.raises(CairnError, match="has no game of the types"):
        HouseholdEnv(split="train", task_types=("look_at_obj_in_light",))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"pddl_problem": None}, "expected the text 'pddl_problem', got None"),
        ({"task": 3}, "expected the text 'task', got 3"),
        ({"pddl_problem": "(define"}, "expected"),
    ],
)
def test_a_damaged_row_is_named_when_it_is_played(root: Path, changes: dict[str, Any], complaint: str) -> None:
    _write_compact(root, [_row(1, **changes), _row(2)])
    env = HouseholdEnv(split="train")
    with pytest.raises(CairnError, match=f"Game 'train/{_ID}1'.*{complaint}"):
        env.reset(options={"task": f"train/{_ID}1"})
    env.reset(options={"task": f"train/{_ID}2"})


def test_damaged_files_are_named(root: Path) -> None:
    path = _write_compact(root, [_row(1)])
    whole = path.read_bytes()
    for content, complaint in [
        (b"not gzip", "Cannot read"),
        (whole[:-40], "cut short"),
        (whole + whole, "more than one gzip member"),
        (gzip.compress(b'{"name": 3}\n'), 'does not begin with an "id"'),
        (gzip.compress(b"x" * (archive.MAX_LINE + 1)), "longer than"),
    ]:
        path.write_bytes(content)
        with pytest.raises(CairnError, match=complaint):
            open_split("train")


def test_a_damaged_original_file_is_named(root: Path) -> None:
    _write_original(root, _row(1))
    file = next(root.glob("json_2.1.1/train/*/*/game.tw-pddl"))
    games = open_split("train")
    for content, complaint in [("{", "not JSON"), ("[]", "expected a JSON object"), ("{}", "no 'Your task is to")]:
        file.write_text(content)
        with pytest.raises(CairnError, match=f"Game 'train/{_ID}1'.*{complaint}"):
            games.house(games.ids[0])


def test_an_unknown_game_is_an_unknown_name(root: Path) -> None:
    _write_compact(root, [_row(1)])
    with pytest.raises(UnknownNameError, match=f"Did you mean 'train/{_ID}1'"):
        HouseholdEnv(split="train").reset(options={"task": f"train/{_ID}0"})


@pytest.mark.parametrize("last_newline", [b"", b"\n"])
def test_any_line_of_an_archive_can_be_read_in_any_order(tmp_path: Path, last_newline: bytes) -> None:
    lines = [bytes([97 + i % 26]) * (i * 7919 % 50_000) + b"%d" % i for i in range(400)]
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"\n".join(lines) + last_newline, compresslevel=0))  # many blocks
    seen: list[bytes] = []
    found = LineArchive(path, seen.append)
    assert seen == lines
    assert len(found) == 400
    assert [found.line(i) for i in reversed(range(400))] == lines[::-1]
