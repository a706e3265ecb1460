"""A checkpoint of a stranger names no server, no variable and no module for the user's machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.agent import load_agent
from cairn.agents.stored_settings import sampling_of
from cairn.core.errors import CairnWarning, ConfigError
from cairn.trainer.config import load_run_config
from tests.agents.tiny import shared

SERVER = {"url": "http://127.0.0.1:9/v1", "key_env": "AWS_SECRET_ACCESS_KEY", "extra": {"user": "x"}}


def checkpoint(folder: Path, config: Mapping[str, Any]) -> str:
    shared().save(folder)
    (folder / "trainer.json").write_text(json.dumps({"update": 3, "config": config}))
    return str(folder)


@pytest.mark.parametrize("method", ["openai", "vllm_server"])
def test_a_stored_server_is_not_asked(method: str, tmp_path: Path) -> None:
    name = checkpoint(tmp_path, {"sampling": {"method": method, method: SERVER}})
    with pytest.warns(
        CairnWarning, match=f"was sampled by a server \\({method}\\), which is not taken from a checkpoint"
    ):
        agent = load_agent(name)
    assert agent.sampling.method == "hf"
    assert "127.0.0.1" not in agent.sampling.model_dump_json()
    assert "AWS_SECRET_ACCESS_KEY" not in agent.sampling.model_dump_json()


@pytest.mark.parametrize("method", ["openai", "vllm_server"])
def test_a_server_of_the_user_has_none_of_the_stored_settings(method: str) -> None:
    own = {"method": method, method: {"url": "http://localhost:8000/v1"}}
    found = sampling_of({"method": method, method: SERVER, "slots": 7}, own, "run")
    assert found == {"slots": 7, **own}


@pytest.mark.parametrize(
    "config",
    [
        {"sampling": {"method": "planted:BACKEND"}},
        {"agent": {"context": {"method": "planted:CONTEXT"}}},
        {"agent": {"context": {"method": "chat", "chat": {"format": "planted:FORM"}}}},
    ],
    ids=str,
)
def test_a_stored_module_is_not_imported(
    config: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"modules that a checkpoint names are not imported.*--agent-set"):
        load_agent(checkpoint(tmp_path / "model", config))
    if "agent" in config:
        with pytest.raises(ConfigError, match="modules that a checkpoint names are not imported"):
            load_run_config({"env": {"id": "household"}, "model": {"path": str(tmp_path / "model")}})
    assert not (tmp_path / "planted.imported").exists()


def test_other_stored_settings_are_kept(tmp_path: Path) -> None:
    name = checkpoint(
        tmp_path, {"sampling": {"method": "hf", "slots": 5, "hf": {"chunk": 3}}, "agent": {"constrain": False}}
    )
    agent = load_agent(name)
    assert (agent.sampling.slots, agent.sampling.settings, agent.interface.constrain) == (5, {"chunk": 3}, False)
