"""Models that Cairn has not trained: the defaults that their files lead to, warnings, and refusals."""

from __future__ import annotations

import json
import shutil
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cairn
from cairn.agents.agent import load_agent
from cairn.agents.evaluation.evaluate import load_evaluation
from cairn.agents.evaluation.jobs import play_tasks
from cairn.agents.models.model_files import MAX_CONTEXT, REPLY_TOKENS, PretrainedFiles, interface_defaults, read_files
from cairn.agents.models.policy import load_pretrained
from cairn.cli.main import app
from cairn.core.config import nest
from cairn.core.errors import CairnWarning, ConfigError, UnknownNameError
from tests.agents.models.test_chat import CHATML
from tests.agents.models.test_policy import with_template
from tests.agents.tiny import shared

ENV = "examples.doors:Doors"
DESK = "tests.agents.desk:Desk"


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small model with a chat template that shows tools."""
    folder = tmp_path_factory.mktemp("chat")
    with_template("qwen2.5").save(folder)
    return folder


@pytest.fixture(scope="module")
def plain_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small model without a chat template."""
    folder = tmp_path_factory.mktemp("plain")
    shared().save(folder)
    return folder


def test_a_model_with_a_chat_template_is_shown_messages_and_replies_freely(chat_model: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CairnWarning)
        agent = load_agent(str(chat_model))
    assert agent.settings["context"]["method"] == "chat"
    assert not agent.interface.constrain
    assert agent.sampling.max_reply_tokens == 1024
    assert agent.sampling.max_context == 4096  # max_position_embeddings of the model
    assert agent.warning == ""


def test_a_template_without_tools_plays_an_environment_with_tools_in_text(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text(CHATML)
    with_template(str(tmp_path / "own.jinja")).save(tmp_path)
    agent = load_agent(str(tmp_path))
    assert agent.settings["context"]["chat"] == {"tools": False}
    report, _ = play_tasks(str(tmp_path), DESK, tasks=1, settings={"sampling": {"max_reply_tokens": 8}})
    assert report.failed == 0


def test_settings_of_the_user_are_above_the_defaults(chat_model: Path) -> None:
    chosen = {"agent.context.method": "window", "sampling.max_reply_tokens": 9, "agent.constrain": True}
    agent = load_agent(str(chat_model), nest(chosen))
    assert agent.settings["context"]["method"] == "window"
    assert agent.interface.constrain
    assert (agent.sampling.max_reply_tokens, agent.sampling.max_context) == (9, 4096)


def test_a_chat_model_plays_with_free_replies(chat_model: Path, tmp_path: Path) -> None:
    settings = nest({"sampling.max_reply_tokens": 8})
    found = cairn.evaluate(str(chat_model), ENV, tasks=2, settings=settings, root=tmp_path)
    assert found.parts[0].measures.episodes == 2
    assert found.facts["warning"] == ""


def test_a_chat_model_is_shown_the_tools_of_an_environment(chat_model: Path) -> None:
    from cairn.agents.evaluation.jobs import play_tasks

    _, episodes = play_tasks(str(chat_model), DESK, tasks=1, settings=nest({"sampling.max_reply_tokens": 8}))
    policy = load_agent(str(chat_model)).policy
    assert policy is not None
    first = episodes[0].turns[0]
    assert first.prompt_ids is not None
    assert '"look_up"' in policy.encoder.decode(first.prompt_ids.tolist())
    assert not any(turn.is_valid for turn in episodes[0].turns)  # a fresh model calls no tool


def test_a_model_without_a_chat_template_is_shown_plain_text_with_a_warning(plain_model: Path, tmp_path: Path) -> None:
    with pytest.warns(CairnWarning, match=r"has no chat template: .* plain text, .* set model.chat_template"):
        found = cairn.evaluate(str(plain_model), ENV, tasks=2, root=tmp_path)
    assert "no chat template" in found.facts["warning"]
    assert load_evaluation(found.folder).facts["warning"] == found.facts["warning"]
    with pytest.warns(CairnWarning):
        agent = load_agent(str(plain_model))
    assert agent.settings["context"]["method"] == "transcript"
    assert agent.interface.constrain


def test_the_command_prints_the_warning_and_counts_cut_episodes(
    plain_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app, ["eval", ENV, "--tasks", "2", "--agent", str(plain_model), "--agent-set", "sampling.max_context=64"]
    )
    assert done.exit_code == 0, done.output
    (line,) = (line for line in done.stderr.splitlines() if "chat template" in line)
    assert line.startswith("cairn: warning: The tokenizer of ")
    assert "2 of 2 episodes ended early because sampling.max_context was full" in done.stdout


def test_a_chat_template_can_be_set_for_a_model_without_one(tmp_path: Path) -> None:
    with_template("chatml").save(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    agent = load_agent(str(tmp_path), {"model": {"chat_template": "chatml"}})
    assert agent.settings["context"]["method"] == "chat"
    assert set(agent.prompts) == {"chat_template", "instruction", "tools"}
    with pytest.raises(UnknownNameError, match="Did you mean 'chatml'"):
        load_agent(str(tmp_path), {"model": {"chat_template": "chatm"}})
    with pytest.raises(ConfigError, match=r"unknown key 'model.dtype'"):
        load_agent(str(tmp_path), {"model": {"dtype": "bfloat16"}})


def test_the_context_chat_needs_a_chat_template(plain_model: Path) -> None:
    remedies = r"'chat' needs a chat template.*Set model.chat_template to .* chatml.*'transcript'"
    with pytest.raises(ConfigError, match=remedies):
        load_agent(str(plain_model), {"agent": {"context": {"method": "chat"}}})


def test_a_checkpoint_keeps_its_stored_settings(plain_model: Path, tmp_path: Path) -> None:
    shared().save(tmp_path)
    stored = {"agent": {"context": {"method": "chat"}, "constrain": True}, "sampling": {"max_reply_tokens": 7}}
    (tmp_path / "trainer.json").write_text(json.dumps({"config": stored}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CairnWarning)
        agent = load_agent(str(tmp_path))
    assert agent.settings == {"context": {"method": "chat"}, "constrain": True, "invalid_limit": None}
    assert agent.sampling.max_reply_tokens == 7


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "has_template", "shows_tools"),
    [
        ("chat_template.jinja", "{{ messages }}", True, False),
        ("chat_template.jinja", "{% if tools %}{{ tools }}<tool_call>{% endif %}{{ messages }}", True, True),
        ("chat_template.jinja", "{{ tools }}{{ messages }}", True, False),
        ("additional_chat_templates/tool_use.jinja", "{{ tools }}[TOOL_CALLS]{{ messages }}", True, True),
        ("tokenizer_config.json", '{"chat_template": "{{ messages }}"}', True, False),
        ("tokenizer_config.json", '{"chat_template": "{{ tools }}", "response_template": {"fields": {}}}', True, True),
        (
            "tokenizer_config.json",
            '{"chat_template": [{"name": "a", "template": "{{ tools }}[TOOL_CALLS]"}]}',
            True,
            True,
        ),
        ("tokenizer_config.json", '{"chat_template": null}', False, False),
        ("tokenizer_config.json", "[1", False, False),
        ("config.json", "{}", False, False),
    ],
)
def test_where_a_chat_template_may_be(
    file: str, text: str, has_template: bool, shows_tools: bool, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    assert read_files(tmp_path) == PretrainedFiles(
        has_template=has_template, shows_tools=shows_tools, max_positions=None
    )


@pytest.mark.parametrize(
    ("positions", "context", "reply"),
    [
        (None, MAX_CONTEXT, REPLY_TOKENS),
        (131_072, MAX_CONTEXT, REPLY_TOKENS),
        (8192, 8192, REPLY_TOKENS),
        (512, 512, 128),
    ],
)
def test_lengths_fit_the_model(positions: int | None, context: int, reply: int) -> None:
    found = interface_defaults(PretrainedFiles(has_template=True, shows_tools=True, max_positions=positions))
    assert (found["sampling.max_context"], found["sampling.max_reply_tokens"]) == (context, reply)


def test_an_adapter_has_the_positions_of_its_base(plain_model: Path, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(plain_model)}))
    assert read_files(tmp_path).max_positions == 512


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("oracel", r"Unknown agent 'oracel'. Did you mean 'oracle'\?"),
        ("gpt2", r"Unknown agent 'gpt2'.*a model on a hub is hf:gpt2"),
        ("a/b/c", "There is no folder 'a/b/c'"),
    ],
)
def test_a_name_that_cannot_be_a_hubs_is_refused_without_asking_one(
    name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: pytest.fail("a hub was asked"))
    with pytest.raises(ConfigError if "folder" in message else UnknownNameError, match=message):
        load_agent(name)


@pytest.mark.parametrize("name", ["nobody-here/no-such-model", "hf:no-such-model"])
def test_a_hub_that_does_not_answer_is_a_clear_error_within_seconds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    began = time.monotonic()
    with pytest.raises(
        ConfigError, match=r"agent: cannot load '(nobody-here/)?no-such-model': there is no such folder"
    ):
        load_agent(name)
    with pytest.raises(ConfigError, match=r"model.path: cannot load"):
        load_pretrained(name)
    assert time.monotonic() - began < 15


def test_a_cached_model_is_loaded_within_seconds_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "models--somebody--tiny"
    shared().save(kept / "snapshots" / "abc")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc")
    for name, value in {
        "HF_HUB_OFFLINE": False,
        "HF_HUB_CACHE": str(tmp_path),
        "ENDPOINT": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    began = time.monotonic()
    loaded = load_pretrained("somebody/tiny")
    assert time.monotonic() - began < 10
    assert loaded.num_parameters == shared().num_parameters


def test_a_prefix_names_a_model_on_a_hub(chat_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = shutil.copytree(chat_model, tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors"))
    asked: list[str] = []

    def cached(name: str, **_: object) -> str:
        asked.append(name)
        return str(settings)

    monkeypatch.setattr("huggingface_hub.snapshot_download", cached)
    with pytest.raises(ConfigError, match="cannot load 'tiny-model'"):  # the weights are not in the cache
        load_agent("hf:tiny-model")
    assert asked == ["tiny-model", "tiny-model"]
