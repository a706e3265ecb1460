"""Checkpoints: transformers loads them, the optimiser resumes from them, and a damaged one is never used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cairn.agents.models.packed_attention import Ragged, hidden_states, logits
from cairn.agents.models.policy import Policy, load_pretrained
from cairn.core.errors import CairnError
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.run.checkpoint import latest, restore_learner, save
from tests.agents.tiny import policy
from tests.trainer.learner.test_learner import mixed


def settings(kind: str = "adamw") -> LearnerConfig:
    return LearnerConfig.model_validate({"optimizer": {"kind": kind, "lr": 1e-2}})


def trained(updates: int = 1, kind: str = "adamw") -> tuple[Policy, Learner]:
    of = policy()
    learner = Learner(of, settings(kind), 10)
    for update in range(updates):
        learner.update(mixed(), update)
    return of, learner


def write(folder: Path, *updates: int, keep: int = 5) -> None:
    of, learner = trained()
    for update in updates:
        save(folder, update, of, learner, {"config": {"seed": 3}}, None, keep)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_transformers_loads_it_with_the_same_logits(tmp_path: Path) -> None:
    of, learner = trained()
    folder = save(tmp_path, 1, of, learner, {}, None, 1)
    plain, tokens = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids = torch.tensor(tokens.encode("A note says: amber. You have the key."))
    assert ids.tolist() == list(of.encoder.encode("A note says: amber. You have the key."))
    with torch.no_grad():
        expected = logits(of.model, hidden_states(of.model, ids, Ragged.of([len(ids)], torch.device("cpu"))))
        torch.testing.assert_close(plain(ids[None]).logits[0], expected, rtol=0, atol=1e-4)
    for one, two in zip(plain.parameters(), of.model.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_training_resumes_without_a_difference(kind: str, tmp_path: Path) -> None:
    of, learner = trained(3, kind)
    save(tmp_path, 3, of, learner, {"config": {"seed": 3}}, None, 1)
    found, problems = latest(tmp_path)
    assert found is not None
    assert (found.update, found.state["config"], problems) == (3, {"seed": 3}, [])
    again = load_pretrained(str(found.folder))
    resumed = Learner(again, settings(kind), 10)
    restore_learner(found, resumed)
    assert resumed.steps == 3
    metrics = learner.update(mixed(), 7)
    assert resumed.update(mixed(), 7) == metrics
    for one, two in zip(again.model.parameters(), of.model.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_learner_that_has_made_no_step_is_saved_too(tmp_path: Path) -> None:
    of = policy()
    save(tmp_path, 0, of, Learner(of, LearnerConfig(), 1), {}, None, 1)
    found, _ = latest(tmp_path)
    assert found is not None
    restore_learner(found, fresh := Learner(of, LearnerConfig(), 1))
    assert fresh.steps == 0


def test_without_a_checkpoint_the_latest_is_none(tmp_path: Path) -> None:
    assert latest(tmp_path / "none") == (None, [])


def test_the_newest_are_kept(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3, 10, keep=2)
    assert names(tmp_path) == ["update-000003", "update-000010"]


def test_a_run_that_went_back_keeps_no_checkpoint_of_its_former_future(tmp_path: Path) -> None:
    write(tmp_path, 5, 10)
    write(tmp_path, 7, keep=1)
    assert names(tmp_path) == ["update-000007"]


def test_writing_a_checkpoint_again_replaces_it(tmp_path: Path) -> None:
    write(tmp_path, 1, 1)
    found, problems = latest(tmp_path)
    assert found is not None
    assert not problems


FILES = ["model.safetensors", "optimizer.safetensors", "trainer.json", "tokenizer.json", "config.json", "manifest.json"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("fault", ["torn", "changed", "missing"])
def test_a_damaged_one_is_named_and_the_one_before_is_used(fault: str, file: str, tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    damaged = tmp_path / "update-000002" / file
    whole = damaged.read_bytes()
    if fault == "missing":
        damaged.unlink()
    else:
        middle = len(whole) // 2
        damaged.write_bytes(
            whole[:middle] + (b"" if fault == "torn" else bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        )
    found, problems = latest(tmp_path)
    assert found is not None
    assert found.folder.name == "update-000001"
    assert len(problems) == 1
    assert "update-000002" in problems[0]


def test_a_file_that_does_not_belong_is_damage(tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    (tmp_path / "update-000002" / "pytorch_model.bin").write_bytes(b"put in by somebody")
    found, problems = latest(tmp_path)
    assert found is not None
    assert found.update == 1
    assert len(problems) == 1


def test_nothing_in_it_is_pickled(tmp_path: Path) -> None:
    write(tmp_path, 1)
    kinds = {path.suffix for path in (tmp_path / "update-000001").iterdir()}
    assert kinds <= {".json", ".safetensors", ".jinja", ".txt"}


def test_files_left_by_a_killed_writer_are_ignored_and_removed(tmp_path: Path) -> None:
    write(tmp_path, 1)
    left = tmp_path / ".partial-000002-99999"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    found, problems = latest(tmp_path)
    assert found is not None
    assert (found.update, problems) == (1, [])
    write(tmp_path, 2)
    assert names(tmp_path) == ["update-000001", "update-000002"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file blocks the way")
    with pytest.raises(CairnError, match=r"Cannot write checkpoint .*update-000001"):
        write(tmp_path / "checkpoints", 1)


FULL = """
import resource, sys
from pathlib import Path
from cairn.core.errors import CairnError
from tests.trainer.run.test_checkpoint import trained
from cairn.trainer.run.checkpoint import save
limit, folder = int(sys.argv[1]), Path(sys.argv[2])
of, learner = trained()
save(folder, 1, of, learner, {}, None, 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    save(folder, 2, of, learner, {}, None, 2)
except CairnError as error:
    print(error)
"""


@pytest.mark.slow  # the default run has a run whose disk is full
@pytest.mark.parametrize("limit", [100, 5_000, 100_000])
def test_a_full_disk_keeps_the_old_checkpoint(limit: int, tmp_path: Path) -> None:
    """A limit on the size of files simulates a full disk; it hits the settings, the tokenizer or the weights."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(limit), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    assert "Cannot write checkpoint" in done.stdout
    assert "update-000002" in done.stdout
    assert "--resume" in done.stdout
    assert names(tmp_path) == ["update-000001"]
    found, problems = latest(tmp_path)
    assert found is not None
    assert problems == []
    assert json.loads((found.folder / "trainer.json").read_text())["update"] == 1
