"""Prompts in files: found by name or path, read without surrounding blanks, and identified by their content."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.agent import load_agent, prompt_hashes
from cairn.agents.config import AgentConfig
from cairn.agents.evaluation.jobs import play_tasks
from cairn.agents.prompts import hashes_of, load_prompt, shipped_prompts
from cairn.core.config import build
from cairn.core.errors import ConfigError, UnknownNameError
from tests.agents.models.test_policy import with_template
from tests.agents.tiny import shared


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def agent(**context: Any) -> AgentConfig:
    return build(AgentConfig, {"context": {"method": "messages", "messages": context}}, "test")


def test_a_prompt_is_found_by_name_or_by_path(tmp_path: Path) -> None:
    assert load_prompt("forms", "plain") == "Answer each message with one action and nothing else."
    (tmp_path / "mine.txt").write_text("\n Be quick. \u65e5 {x}\n\n", encoding="utf-8")
    assert load_prompt("systems", str(tmp_path / "mine.txt")) == "Be quick. \u65e5 {x}"
    with pytest.raises(UnknownNameError, match=r"Did you mean 'react'"):
        load_prompt("forms", "raect")


def test_an_invalid_prompt_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not text in UTF-8"):
        load_prompt("systems", str(tmp_path / "picture"))
    (tmp_path / "long").write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(ConfigError, match="more than 1048576 bytes"):
        load_prompt("systems", str(tmp_path / "long"))
    with pytest.raises(UnknownNameError):
        load_prompt("systems", str(tmp_path))


@pytest.mark.parametrize("kind", ["systems", "forms", "summaries"])
def test_every_shipped_prompt_is_a_text(kind: Any) -> None:
    assert all(load_prompt(kind, name) for name in shipped_prompts(kind))
    assert shipped_prompts(kind)


def test_settings_lead_to_hashes_of_the_texts_and_not_of_their_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("Be quick.")
    by_path = prompt_hashes(agent(system_file=str(file), instruction="Play."))
    assert by_path == {"system": digest("Be quick."), "instruction": digest("Play.")}
    assert by_path == prompt_hashes(agent(system="Be quick.", instruction="Play."))
    file.write_text("Be slow.")
    assert prompt_hashes(agent(system_file=str(file)))["system"] == digest("Be slow.")
    assert prompt_hashes(agent())["instruction"] == digest(load_prompt("forms", "plain"))
    assert set(prompt_hashes(agent(memory="summary"))) == {"instruction", "summary"}
    assert prompt_hashes(AgentConfig()) == {}  # a transcript has no prompts
    assert hashes_of({"x": "\ud800"})["x"]


def test_a_report_has_the_hashes(tmp_path: Path) -> None:
    with_template("chatml").save(tmp_path)
    context = {"method": "chat", "chat": {"instruction": "Play.", "tools": False}}
    reported = {"agent": {"context": context, "constrain": True}, "sampling": {"max_context": 512}}
    report, _ = play_tasks(str(tmp_path), "examples.doors:Doors", tasks=1, settings=reported)
    assert report.prompts == {"instruction": digest("Play.")}
    oracle, _ = play_tasks("oracle", "examples.doors:Doors", tasks=1)
    assert oracle.prompts == {}


def test_a_checkpoint_whose_prompt_has_changed_is_refused_unless_one_is_chosen(tmp_path: Path) -> None:
    shared().save(tmp_path)
    file = tmp_path / "mine.txt"
    file.write_text("Be quick.")
    context = {"method": "chat", "chat": {"system_file": str(file)}}
    stored = {"config": {"agent": {"context": context}}, "prompts": {"system": digest("Be quick.")}}
    (tmp_path / "trainer.json").write_text(json.dumps(stored))
    assert load_agent(str(tmp_path)).prompts["system"] == digest("Be quick.")
    file.write_text("Be slow.")
    with pytest.raises(ConfigError, match="was trained with another system"):
        load_agent(str(tmp_path))
    chosen = {"agent": {"context": {"chat": {"system_file": str(file)}}}}
    assert load_agent(str(tmp_path), chosen).prompts["system"] == digest("Be slow.")
