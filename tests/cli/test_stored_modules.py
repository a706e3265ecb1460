"""A stored run names modules; the commands import none of them from the current folder unless the user says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.stored_settings import named_modules
from cairn.core.store import RunStore
from cairn.trainer.config import RunConfig
from tests.cli.forked import cairn
from tests.viewer.stored import make_run

pytestmark = pytest.mark.rotating(3)

PLANTED = "from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n"
OWN = """
from examples.doors import Doors

class Mine(Doors):
    pass
"""
SETTINGS = {
    "env.id": "mine:Mine", "model.preset": "qwen3-nano", "model.vocab_size": 400, "trainer.updates": 0,
    "trainer.threads": 1, "sampling.max_context": 256, "eval.tasks": 2, "trackers.tensorboard.on": False,
}  # fmt: skip


def stranger(folder: Path, change: Mapping[str, Any]) -> Path:
    (folder / "planted.py").write_text(PLANTED)
    config = {**RunConfig().model_dump(mode="json"), **change}
    return make_run(folder / "run", config=config)


CHANGES: tuple[dict[str, Any], ...] = (
    {"env": {"id": "planted:Env", "config": {}}},
    {"sampling": {"method": "planted:BACKEND"}},
    {"agent": {"context": {"method": "planted:CONTEXT"}, "constrain": True}},
    {"agent": {"context": {"method": "chat", "chat": {"format": "planted:FORM"}}, "constrain": True}},
    {"credit": {"method": "planted:CREDIT"}},
    {"loss": {"method": "planted:LOSS"}},
    {"trackers": {"tensorboard": {}, "planted:TRACKER": {}}},
    {"env": {"id": "household", "config": {"perturb": {"planted:PERTURBATION": {}}}}},
    {"env": {"id": "household", "config": {"perturb": ["planted:PERTURBATION"]}}},
    {"env": {"id": "codeact", "config": {"of": "planted:Env"}}},
    {"env": {"id": "code", "config": {"sandbox": "planted:SANDBOX"}}},
    {"eval": {"config": {"perturb": "planted:PERTURBATION"}}},
    {"imitation": {"episodes": 1, "config": {"perturb": "planted:PERTURBATION"}}},
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_resumed_run_imports_no_module_that_it_names(change: Mapping[str, Any], tmp_path: Path) -> None:
    stranger(tmp_path, change)
    done = cairn(tmp_path, "train", "--resume", "run")
    assert done.returncode == 2, done.stderr
    assert "modules that a stored run names are not imported" in done.stderr
    assert "--import planted:" in done.stderr
    assert not (tmp_path / "planted.imported").exists()


def test_a_resumed_run_sends_nothing_to_a_server_that_it_names(tmp_path: Path) -> None:
    server = {"url": "http://models.example/v1", "key_env": "AWS_SECRET_ACCESS_KEY"}
    stranger(tmp_path, {"sampling": {"method": "vllm_server", "vllm_server": server}})
    for command in (["train", "--resume", "run"], ["train", "--plan", "--resume", "run"]):
        done = cairn(tmp_path, *command)
        assert done.returncode == 2, done.stderr
        assert "names the server, variable or token" in done.stderr
        assert "--set sampling.vllm_server.key_env=AWS_SECRET_ACCESS_KEY" in done.stderr


def test_earlier_settings_of_a_run_name_no_module_either(tmp_path: Path) -> None:
    stranger(tmp_path, {})
    with RunStore(tmp_path / "run" / "run.sqlite") as store:
        config = {**store.meta()["config"], "env": {"id": "household", "config": {"perturb": "planted:P"}}}
        store.set_meta({"configs": [{"update": 0, "config": config}]})
    done = cairn(tmp_path, "train", "--resume", "run")
    assert "--import planted:P" in done.stderr
    assert not (tmp_path / "planted.imported").exists()


@pytest.mark.parametrize("command", ["train --plan --resume run", "credit run", "report run"])
def test_no_command_imports_the_environment_of_a_strangers_run(command: str, tmp_path: Path) -> None:
    stranger(tmp_path, {"env": {"id": "planted:Env", "config": {}}, "credit": {"method": "planted:CREDIT"}})
    done = cairn(tmp_path, *command.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "planted.imported").exists()


def test_a_run_in_an_environment_of_the_user_is_resumed_with_its_module_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in SETTINGS.items()))
    assert cairn(tmp_path, "train", "mine.toml", "--folder", "run").returncode == 0
    longer = ("train", "--resume", "run", "--set", "eval.temperature=1.0")
    refused = cairn(tmp_path, *longer)
    assert "--import mine:Mine" in refused.stderr
    done = cairn(tmp_path, *longer, "--import", "mine:Mine")
    assert done.returncode == 0, done.stderr
    with RunStore.read(tmp_path / "run") as store:
        assert store.meta()["config"]["eval"]["temperature"] == 1.0


def test_modules_outside_the_current_folder_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = {"env": {"id": "examples.doors:Doors"}, "credit": {"method": "gigpo"}}
    assert named_modules(config) == []
    assert named_modules({"env": {"id": "nowhere_at_all:Env"}}) == ["nowhere_at_all:Env"]


@pytest.mark.parametrize("config", [{}, {"env": 3}, {"agent": [], "trackers": None, "credit": {"method": 1}}], ids=str)
def test_malformed_configurations_name_nothing(config: Mapping[str, Any]) -> None:
    assert named_modules(config) == []
