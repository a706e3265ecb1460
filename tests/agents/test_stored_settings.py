"""A checkpoint of a stranger names no server, no variable and no module for the user's machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from cairn.agents.agent import load_agent
from cairn.agents.stored_settings import SERVER_SETTINGS, refuse_servers, resume_flags, sampling_of
from cairn.core.config import Config
from cairn.core.errors import CairnWarning, ConfigError
from cairn.core.plugins import BACKENDS, ENVS, SANDBOXES, TRACKERS
from cairn.trainer.config import RunConfig, load_run_config
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
        {"agent": {"context": {"method": "chat", "chat": {"deeper": [{"down": "planted:X"}]}}}},
        {"sampling": {"method": "hf", "hf": {"planted:X": 1}}},
    ],
    ids=str,
)
def test_a_stored_module_is_not_imported(
    config: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"names the module .*planted:.*it is not used.*--agent-set"):
        load_agent(checkpoint(tmp_path / "model", config))
    if "agent" in config:
        with pytest.raises(ConfigError, match="names the module"):
            load_run_config({"env": {"id": "household"}, "model": {"path": str(tmp_path / "model")}})
    assert not (tmp_path / "planted.imported").exists()


def test_other_stored_settings_are_kept(tmp_path: Path) -> None:
    name = checkpoint(
        tmp_path, {"sampling": {"method": "hf", "slots": 5, "hf": {"chunk": 3}}, "agent": {"constrain": False}}
    )
    agent = load_agent(name)
    assert (agent.sampling.slots, agent.sampling.settings, agent.interface.constrain) == (5, {"chunk": 3}, False)


NO_SERVERS = {  # settings with such names that lead nowhere
    "token_budget", "max_reply_tokens", "num_tokens", "cache_tokens", "summary_tokens", "micro_batch_tokens",
    "max_tokens", "tokens_per_minute", "key", "env",
}  # fmt: skip
SENDS = re.compile(r"(^|_)(url|uri|host|address|server|token|key|secret|password|env|network|proxy)(_|$)")


def fields(config: type[Config], seen: set[type[Config]]) -> Iterator[str]:
    """Yield the names of all fields of a Config and of the Configs in it."""
    if config not in seen:
        seen.add(config)
        for name, field in config.model_fields.items():
            yield name
            for inner in (field.annotation, *get_args(field.annotation)):
                if isinstance(inner, type) and issubclass(inner, Config):
                    yield from fields(inner, seen)


def test_every_setting_that_names_a_server_is_listed() -> None:
    """Of runs, and of every back end, environment, sandbox and tracker; a new one with another name fails here."""
    configs = [RunConfig, *(BACKENDS.load(name).config for name in BACKENDS.ids())]
    configs += [TRACKERS.load(name).config for name in TRACKERS.ids()]
    configs += [SANDBOXES.load(name).config for name in SANDBOXES.ids()]
    configs += [ENVS.load(name).Config for name in ENVS.ids()]
    seen: set[type[Config]] = set()
    names = {name for config in configs for name in fields(config, seen)}
    assert {name for name in names if SENDS.search(name)} - NO_SERVERS == SERVER_SETTINGS


STRANGE: tuple[tuple[Mapping[str, Any], str], ...] = (
    ({"sampling": {"vllm_server": {"url": "http://models.example/v1"}}}, "sampling.vllm_server.url"),
    ({"sampling": {"openai": {"url": None, "key_env": "AWS_SECRET_ACCESS_KEY"}}}, "sampling.openai.key_env"),
    ({"env": {"config": {"sandbox_settings": {"url": "http://10.0.0.1:8600"}}}}, "env.config.sandbox_settings.url"),
    ({"env": {"config": {"settings": {"sandbox_settings": {"token_file": "/home/me/t"}}}}}, "token_file"),
    ({"env": {"config": {"sandbox_settings": {"network": ["10.0.0.1:22"]}}}}, "sandbox_settings.network.0"),
    ({"trackers": {"mlflow": {"uri": "https://tracker.example"}}}, "trackers.mlflow.uri"),
    ({"cluster": {"address": "10.0.0.1:6379"}}, "cluster.address"),
)


@pytest.mark.parametrize(("config", "setting"), STRANGE, ids=[setting for _, setting in STRANGE])
def test_a_stored_server_variable_or_token_is_the_users_to_confirm(config: Mapping[str, Any], setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"names the server, variable or token .*--set \S*{setting}="):
        refuse_servers(config, {}, "run")
    refuse_servers(config, config, "run")  # the user says the same


@pytest.mark.parametrize(
    "config",
    [
        {}, [], None, 3, {"env": 3}, {"url": None}, {"url": ""}, {"url": {}}, {"network": []}, {"urls": "http://x"},
        {"url": "http://localhost:8000/v1"}, {"url": "http://127.0.0.1:8600"}, {"address": "[::1]:6379"},
        {"url": "https://api.openai.com/v1", "key_env": "OPENAI_API_KEY"}, {"uri": "sqlite:///runs.db"},
    ],
    ids=str,
)  # fmt: skip
def test_local_and_default_servers_need_no_confirmation(config: Any) -> None:
    refuse_servers(config, {}, "run")


def test_a_deep_configuration_is_looked_through() -> None:
    config: dict[str, Any] = {"url": "http://x.example"}
    for _ in range(5000):
        config = {"a": [config]}
    with pytest.raises(ConfigError, match=r"x\.example"):
        refuse_servers(config, {}, "run")


def test_resume_flags_name_the_module_and_the_server() -> None:
    config = {"env": {"id": "nowhere_at_all:Env"}, "sampling": {"openai": {"url": "http://models.example/v1?a b"}}}
    assert resume_flags(config) == (
        " --import nowhere_at_all:Env --set 'sampling.openai.url=http://models.example/v1?a b'"
    )
