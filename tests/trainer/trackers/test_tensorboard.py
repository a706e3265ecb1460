"""TensorBoard's files, read back with TensorBoard's own reader."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cairn.trainer.trackers.tensorboard import TRACKER, TensorBoardConfig
from tests.trainer.trackers.tracked import run_in, tell


def test_metrics_of_a_run_are_in_its_folder(tmp_path: Path) -> None:
    run = run_in(tmp_path / "doors-1")
    tell(TRACKER.make(TensorBoardConfig(), run))
    read = EventAccumulator(str(run.folder / "tensorboard"))
    read.Reload()
    scalars = {tag: [(each.step, each.value) for each in read.Scalars(tag)] for tag in read.Tags()["scalars"]}
    assert scalars == {
        "imitation/loss": [(1, 0.5)],
        "eval/success": [(0, 0.75)],
        "eval/success/look (at)": [(0, 0.5)],
        "eval/success/pick": [(0, 1.0)],
        "eval/turns": [(0, 6.5)],
        "train/success": [(1, 0.25), (1, 0.5)],
        "train/seconds/learn": [(1, 2.0)],
    }
    texts = {tag: read.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in read.Tags()["tensors"]}
    assert texts["run/folder/text_summary"] == f"[doors-1]({run.folder.as_uri()})"
    assert "| `trainer.updates` | `2` |" in texts["run/config/text_summary"]
    assert "| `torch` | `2.13.0` |" in texts["run/versions/text_summary"]


def test_settings_are_escaped_in_markup(tmp_path: Path) -> None:
    run = run_in(tmp_path / "doors-1", note="a|b`c\nd")
    tell(TRACKER.make(TensorBoardConfig(), run))
    read = EventAccumulator(str(run.folder / "tensorboard"))
    read.Reload()
    text = read.Tensors("run/config/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| `trainer.note` | `a/b c d` |" in text.splitlines()
