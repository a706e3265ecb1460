"""The key of a stored evaluation: it changes with everything that can change results and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.agent import Agent, load_agent
from cairn.agents.evaluation.evaluate import evaluate
from cairn.agents.evaluation.fingerprint import fingerprint, panel_key
from cairn.agents.evaluation.panel import Panel, make_panel
from cairn.core.errors import ConfigError
from tests.agents.evaluation.test_panel import part


def key(name: str = "openai:m", **tables: Any) -> str:  # Any: settings
    """Return the key of an agent with these settings."""
    return fingerprint(load_agent(name, tables), 0.4)


def served(**settings: Any) -> str:  # Any: settings
    """Return the key of a model behind a server, treated so."""
    return key(sampling={"openai": settings})


# -- files -------------------------------------------------------------------------------------------------------------


def of_folder(folder: Path) -> Agent:
    return replace(load_agent("oracle"), name=str(folder), place=folder)


def of_run(folder: Path) -> Agent:
    return load_agent(f"replay:{folder}")


WEIGHTS = (
    "model.safetensors", "adapter_model.safetensors", "pytorch_model.bin", "config.json", "generation_config.json",
    "tokenizer.json", "tokenizer.model", "merges.txt", "chat_template.jinja", "trainer.json",
)  # fmt: skip


@pytest.mark.parametrize("agent", [of_folder, of_run])
@pytest.mark.parametrize("name", [*WEIGHTS, "run.sqlite", "run.sqlite-wal"])
def test_changing_one_byte_of_a_model_file_changes_the_fingerprint(
    tmp_path: Path, agent: Callable[[Path], Agent], name: str
) -> None:
    (tmp_path / name).write_bytes(b"abc")
    before = fingerprint(agent(tmp_path), 0.4)
    assert fingerprint(agent(tmp_path), 0.4) == before
    (tmp_path / name).write_bytes(b"abd")
    assert fingerprint(agent(tmp_path), 0.4) != before


@pytest.mark.parametrize("name", ["manifest.json", "optimizer.safetensors", "rollout.json", "events.out"])
def test_files_that_no_reply_depends_on_do_not_change_the_fingerprint(tmp_path: Path, name: str) -> None:
    before = fingerprint(of_folder(tmp_path), 0.4)
    (tmp_path / name).write_bytes(b"abc")
    assert fingerprint(of_folder(tmp_path), 0.4) == before


def test_another_prompt_in_the_same_file_is_another_agent(tmp_path: Path) -> None:
    prompt = tmp_path / "system.txt"
    settings = {"context": {"messages": {"system_file": str(prompt)}}}
    prompt.write_text("Act.")
    before = key(agent=settings)
    assert key(agent=settings) == before
    prompt.write_text("Act!")
    assert key(agent=settings) != before


def test_a_person_has_another_key_each_time() -> None:
    assert key("human") != key("human")


# -- servers -----------------------------------------------------------------------------------------------------------


def test_a_server_that_the_environment_names_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    first = key()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://b/v1/")
    assert key() != first
    assert key() == served(url="http://b/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        key()


@pytest.mark.parametrize(
    "settings",
    [
        {"requests_per_minute": 3}, {"tokens_per_minute": 1000}, {"max_in_flight": 1}, {"attempts": 2},
        {"reply_s": 9.0}, {"connect_s": 1.0}, {"retry_s": 9.0}, {"backoff_s": 2.0}, {"max_answer_mib": 1},
        {"key_env": "MY_KEY"}, {"prices": {"prompt": 1.0}},
    ],
)  # fmt: skip
def test_patience_and_price_change_nothing(settings: dict[str, Any]) -> None:
    assert served(**settings) == served()


@pytest.mark.parametrize(
    "settings", [{"url": "http://b/v1"}, {"extra": {"top_p": 0.5}}, {"leave_out": ["seed"]}, {"model": "other"}]
)
def test_settings_sent_to_a_server_are_part_of_the_key(settings: dict[str, Any]) -> None:
    assert served(**settings) != served()


@pytest.mark.parametrize(("name", "value", "is_same"), [("slots", 3, True), ("max_reply_tokens", 9, False)])
def test_length_limits_are_part_of_the_key_and_speed_settings_are_not(name: str, value: int, is_same: bool) -> None:
    assert (key(sampling={name: value}) == key()) == is_same


# -- environments ------------------------------------------------------------------------------------------------------


@pytest.fixture
def panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Panel:
    """A panel of an environment whose class and base class are in two files outside Cairn."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("their_base", "their_env"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "their_base.py").write_text("from examples.doors import Doors\nclass Base(Doors):\n    pass\n")
    (tmp_path / "their_env.py").write_text("from their_base import Base\nclass Theirs(Base):\n    pass\n")
    return make_panel("theirs", "", [part(env="their_env:Theirs")])


@pytest.mark.parametrize("file", ["their_env.py", "their_base.py"])
def test_an_environment_that_was_repaired_is_played_again(panel: Panel, tmp_path: Path, file: str) -> None:
    before = panel_key(panel)
    assert evaluate("random", panel=panel, root=tmp_path / "evals").played
    assert not evaluate("random", panel=panel, root=tmp_path / "evals").played
    with (tmp_path / file).open("a") as opened:
        opened.write("# repaired\n")
    assert panel_key(panel) != before
    assert evaluate("random", panel=panel, root=tmp_path / "evals").played
