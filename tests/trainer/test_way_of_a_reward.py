"""The list in docs/architecture.md of the files between a reward and a token's weight."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

from cairn.core.records import Episode, Turn
from cairn.core.table import StepTable
from cairn.trainer.learner.batch import Batch
from cairn.trainer.learner.samples import Sample
from cairn.trainer.losses.base import LossInputs, LossOutput
from cairn.trainer.train import train
from cairn.trainer.update import PolicyUpdate, UpdateResult
from tests.test_architecture import ROOT
from tests.trainer.test_train import DOORS, SMALL

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_FILES, MOST_LINES = 20, 3000
CARRIERS = (Turn, Episode, StepTable, Sample, Batch, LossInputs, LossOutput, UpdateResult)
# Files that receive rewards or advantages and return none: metrics, progress, the store. With prefix sharing, which
# reads ids only.
BESIDE = {
    "agents/rollout/engine_state.py",
    "trainer/callbacks.py",
    "trainer/credit/kernel/aliases.py",
    "trainer/engine.py",
    "trainer/learner/update_metrics.py",
    "trainer/metrics.py",
    "trainer/train.py",
}


ARRAYS = {  # files whose functions get columns instead of a record, and the files that call them
    "core/_columns.py": "core/table.py",
    "trainer/credit/kernel/segments.py": "trainer/credit/methods/gigpo.py",
}


def listed() -> list[str]:
    section = PAGE.split("## From a reward to a token's weight")[1]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)]


def carries(value: object) -> bool:
    if isinstance(value, (list, tuple)) and value:
        return carries(value[0])
    return isinstance(value, CARRIERS)


def passed_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the files whose functions take or return a record with a reward or an advantage, during updates."""
    found: set[str] = set()
    folders = {str(path.resolve()) + "/": path.name for path in (ROOT / "src" / "cairn").iterdir() if path.is_dir()}

    def file_of(frame: FrameType) -> str | None:
        name = str(Path(frame.f_code.co_filename).resolve()) if "cairn" in frame.f_code.co_filename else ""
        return next(
            (folder + "/" + name[len(root) :] for root, folder in folders.items() if name.startswith(root)), None
        )

    def note(frame: FrameType, event: str, value: object) -> None:
        if event not in ("call", "return"):
            return
        seen = value if event == "return" else list(frame.f_locals.values())
        values = seen if isinstance(seen, list) and event == "call" else [seen]
        if any(map(carries, values)) and (file := file_of(frame)) is not None:
            found.add(file)

    run = PolicyUpdate.run

    def watched(parts: PolicyUpdate, number: int, seed: int) -> UpdateResult:
        threading.setprofile(note)  # batches are made in a thread
        sys.setprofile(note)
        try:
            return run(parts, number, seed)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    monkeypatch.setattr(PolicyUpdate, "run", watched)
    settings = {**SMALL, "trainer.updates": 2, "credit.method": "gigpo", "loss.method": "clip"}
    train(DOORS, settings, folder=tmp_path)
    return found


def test_the_list_is_short() -> None:
    files = listed()
    assert len(files) == len(set(files)) <= MOST_FILES
    lines = sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files)
    assert lines <= MOST_LINES
    said = re.search(r"\((\d+) files, about ([\d,]+) lines", PAGE)
    assert said is not None
    assert int(said[1]) == len(files)
    assert abs(int(said[2].replace(",", "")) - lines) <= 50


def test_rewards_pass_through_the_listed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert passed_through(tmp_path, monkeypatch) - BESIDE | set(ARRAYS) == set(listed())
    for file, caller in ARRAYS.items():
        module = "cairn." + file.removesuffix(".py").replace("/", ".")
        assert f"from {module} import" in (ROOT / caller).read_text(encoding="utf-8")
