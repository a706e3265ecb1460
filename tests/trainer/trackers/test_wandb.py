"""Weights & Biases offline, read back from the files for `wandb sync`: records of its own protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError, MissingExtraError
from cairn.trainer.trackers.wandb import TRACKER, WandbConfig
from tests.trainer.trackers.tracked import run_in, tell

is_installed = find_spec("wandb") is not None
needs_wandb = pytest.mark.skipif(not is_installed, reason="wandb is not installed: pip install -e '.[wandb]'")
_BLOCK, _HEADER = 32768, 7  # bytes: of a block of the file, and before it and before each piece of a record


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))


def pieces(content: bytes) -> Iterator[bytes]:
    """Yield whole records: each piece has its length and whether it is whole, first, middle or last (LevelDB's log)."""
    at, record = _HEADER, b""
    while at < len(content):
        if _BLOCK - at % _BLOCK < _HEADER:
            at += _BLOCK - at % _BLOCK
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        at += _HEADER
        record += content[at : at + length]
        at += length
        if kind in (1, 4):
            yield record
            record = b""


def records(folder: Path) -> list[list[Any]]:  # Any: wandb is optional
    """Return the records of each session of the run, in their order."""
    from wandb.proto.wandb_internal_pb2 import Record

    files = sorted((folder / "trackers" / "wandb").glob("offline-run-*/run-*.wandb"), key=lambda f: f.stat().st_mtime)
    return [[Record.FromString(piece) for piece in pieces(file.read_bytes())] for file in files]


def rows(session: list[Any]) -> list[dict[str, Any]]:  # Any: as above
    """Return the history: metrics logged together, by name, without W&B's own fields."""
    found = [
        {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        for record in session
        if record.WhichOneof("record_type") == "history"
    ]
    return [{name: value for name, value in row.items() if not name.startswith("_")} for row in found]


@needs_wandb
def test_a_run_is_logged_and_resumed(tmp_path: Path) -> None:
    run = run_in(tmp_path / "doors-1")
    config = WandbConfig(project="houses", tags=("a", "b"), mode="offline")
    tell(TRACKER.make(config, run))
    (session,) = records(run.folder)
    (begun,) = [record.run for record in session if record.WhichOneof("record_type") == "run"][:1]
    assert (begun.project, begun.display_name, list(begun.tags)) == ("houses", "doors-1", ["a", "b"])
    assert begun.notes == run.folder.as_uri()
    settings = {item.key: json.loads(item.value_json) for item in begun.config.update}
    assert settings["trainer"] == {"updates": 2}
    assert settings["versions"] == {"torch": "2.13.0"}
    assert settings["folder"] == run.folder.as_uri()
    assert rows(session) == [
        {"imitation/loss": 0.5, "imitation/pass": 1},
        {"eval/success": 0.75, "eval/success/look (at)": 0.5, "eval/success/pick": 1.0, "eval/turns": 6.5, "update": 0},
        {"train/success": 0.25, "train/seconds/learn": 2.0, "update": 1},
        {"train/success": 0.5, "update": 1},
    ]
    steps = {r.metric.glob_name: r.metric.step_metric for r in session if r.WhichOneof("record_type") == "metric"}
    assert steps["train/*"] == steps["eval/*"] == "update"
    assert steps["imitation/*"] == "imitation/pass"

    tell(TRACKER.make(config, run))
    names = {r.run.run_id for part in records(run.folder) for r in part if r.WhichOneof("record_type") == "run"}
    assert names == {begun.run_id}


@needs_wandb
@pytest.mark.parametrize("said", ["config", "environment"])
def test_a_missing_login_raises_an_error_instead_of_a_prompt(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    if said == "environment":
        monkeypatch.setenv("WANDB_MODE", "online")
    tracker = TRACKER.make(WandbConfig(mode="online" if said == "config" else None), run_in(tmp_path / "doors-1"))
    with pytest.raises(CairnError, match=r"run `wandb login`, or set trackers\.wandb\.mode=offline"):
        tracker.open()


@pytest.mark.skipif(is_installed, reason="wandb is installed")
def test_without_its_package_it_names_the_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'wandb>="):
        TRACKER.check_installed()
