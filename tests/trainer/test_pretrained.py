"""Runs that start from a pretrained model: their defaults, and the settings above these."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.core.config import flatten
from cairn.core.errors import ConfigError
from cairn.core.store import RunStore
from cairn.trainer.config import RunConfig, defaulted, load_run_config
from cairn.trainer.pretrained import pretrained_defaults, pretrained_notes
from cairn.trainer.train import train
from tests.agents.models.test_policy import with_template
from tests.agents.tiny import shared
from tests.trainer.test_train import Heard

DOORS: dict[str, Any] = {"env": {"id": "examples.doors:Doors"}}  # 6 turns
HUB = {**DOORS, "model": {"path": "Qwen/Qwen2.5-0.5B-Instruct"}}
SMALL = {
    "trainer.updates": 1,
    "trainer.groups": 1,
    "trainer.group_size": 2,
    "eval.tasks": 1,
    "sampling.max_reply_tokens": 4,
    "env.config.turn_limit": 2,
}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("chat")
    with_template("chatml").save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def plain_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("plain")
    shared().save(folder)
    return str(folder)


def test_a_pretrained_model_has_defaults_of_its_own() -> None:
    config = load_run_config(HUB)
    assert config.agent.context.method == "chat"
    assert config.agent.context.settings == {"tools": True}
    assert not config.agent.constrain
    assert (config.sampling.max_reply_tokens, config.sampling.max_context) == (512, 4096)
    assert (config.learner.optimizer.kind, config.learner.optimizer.lr) == ("adamw", 1e-6)
    reference = config.learner.reference
    assert (reference.kind, reference.weight, reference.estimator) == ("initial", 0.01, "k3")
    assert config.eval.temperature == 0.4


def test_adapters_have_a_higher_rate() -> None:
    assert load_run_config(HUB, {"model.lora": {"rank": 8}}).learner.optimizer.lr == 1e-5
    assert load_run_config(HUB, {"model.lora": {}}).learner.optimizer.lr == 1e-5


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ({"learner.optimizer.lr": 3e-5}, {"learner.optimizer.lr": 3e-5, "learner.optimizer.kind": "adamw"}),
        ({"learner.optimizer.kind": "muon"}, {"learner.optimizer.lr": 1e-6, "learner.optimizer.muon_lr": 3e-3}),
        ({"learner.reference.weight": 0.1}, {"learner.reference.weight": 0.1, "learner.reference.kind": "initial"}),
        ({"learner.reference.kind": "none"}, {"learner.reference.weight": 0.0, "learner.reference.kind": "none"}),
        (
            {"learner.reference": {"kind": "ema", "decay": 0.9}},
            {"learner.reference.weight": 0.0, "learner.reference.decay": 0.9},
        ),
        ({"agent.constrain": True}, {"agent.constrain": True, "agent.context.method": "chat"}),
        ({"agent.context.method": "window"}, {"agent.context.method": "window", "agent.constrain": False}),
        ({"agent.context.chat.tools": False}, {"agent.context.chat.tools": False}),
        ({"agent.context.chat.history": 2}, {"agent.context.chat.tools": True, "agent.context.chat.history": 2}),
        ({"sampling.max_context": 999}, {"sampling.max_context": 999, "sampling.max_reply_tokens": 512}),
        ({"sampling.max_reply_tokens": 2000}, {"sampling.max_context": 6 * (2000 + 128)}),
        ({"env.config.turn_limit": 20}, {"sampling.max_context": 20 * (512 + 128)}),
        ({"env.config.turn_limit": 500}, {"sampling.max_context": 32_768}),
    ],
)
def test_settings_that_are_given_are_above_the_defaults(given: dict[str, Any], resolved: dict[str, Any]) -> None:
    found = flatten(load_run_config(HUB, given).model_dump())
    assert {name: found[name] for name in resolved} == resolved
    assert defaulted(HUB, given).isdisjoint(given)


def test_a_fresh_model_keeps_the_defaults_of_the_code() -> None:
    assert pretrained_defaults(DOORS) == {}
    assert load_run_config(DOORS) == RunConfig.model_validate(
        {**RunConfig().model_dump(), "env": {"id": "examples.doors:Doors"}}
    )


@pytest.mark.parametrize("file", sorted((ROOT / "configs" / "runs").glob("*.toml")), ids=lambda file: file.stem)
def test_runs_that_ship_give_all_that_has_other_defaults(file: Path) -> None:
    """Their meaning does not depend on the defaults for pretrained models, but for how the optimiser is called."""
    assert defaulted(file) <= {"eval.temperature", "learner.optimizer.kind"}
    without = load_run_config(file, is_stored=True).model_dump()
    assert load_run_config(file).model_dump() == without


def test_a_model_without_a_chat_template_is_shown_plain_text(plain_model: str) -> None:
    config = load_run_config(DOORS, {"model.path": plain_model})
    assert config.agent.context.method == "transcript"
    assert config.agent.constrain  # it does not know where an action ends
    assert config.sampling.max_context == 512  # of the model
    (note,) = pretrained_notes(config)
    assert "has no chat template: the model is shown plain text" in note
    assert pretrained_notes(load_run_config(DOORS)) == []


def test_a_chat_template_of_the_configuration_counts(plain_model: str) -> None:
    config = load_run_config(DOORS, {"model.path": plain_model, "model.chat_template": "chatml"})
    assert config.agent.context.method == "chat"


def test_an_episode_that_may_not_fit_is_noted(chat_model: str) -> None:
    fits = load_run_config(DOORS, {"model.path": chat_model})
    assert pretrained_notes(fits) == []
    (note,) = pretrained_notes(load_run_config(DOORS, {"model.path": chat_model, "env.config.turn_limit": 50}))
    assert "50 turns with replies of 512 tokens are more than sampling.max_context = 4096" in note
    long = {"model.path": chat_model, "env.config.turn_limit": 50, "agent.context.chat.history": 2}
    assert pretrained_notes(load_run_config(DOORS, long)) == []


@pytest.mark.parametrize("model", ["fresh", "plain"])
def test_the_context_chat_without_a_chat_template_is_refused(model: str, plain_model: str) -> None:
    chosen: dict[str, Any] = {"agent.context.method": "chat"}
    remedies = r"'chat' needs a chat template.*Set model.chat_template to .* chatml.*'transcript'"
    with pytest.raises(ConfigError, match=remedies):
        load_run_config(DOORS, chosen | ({"model.path": plain_model} if model == "plain" else {}))
    assert load_run_config(DOORS, {**chosen, "model.chat_template": "chatml"}).agent.context.method == "chat"


def test_a_hubs_model_without_a_chat_template_is_refused_when_it_is_loaded(
    plain_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.agents.models.policy.local_folder", lambda _: Path(plain_model))
    with pytest.raises(ConfigError, match=r"'chat' needs a chat template.*'transcript'"):
        train(HUB, SMALL, folder=tmp_path)


def test_a_checkpoint_keeps_the_settings_it_was_trained_with(chat_model: str, tmp_path: Path) -> None:
    with_template("chatml").save(tmp_path)
    trained = load_run_config(DOORS, {"agent.constrain": False, "learner.optimizer": {"kind": "muon", "lr": 0.02}})
    (tmp_path / "trainer.json").write_text(json.dumps({"config": trained.model_dump()}))
    again = load_run_config(DOORS, {"model.path": str(tmp_path), "sampling.max_context": 99})
    assert again.agent == trained.agent
    assert again.learner == trained.learner
    assert (again.sampling.max_reply_tokens, again.sampling.max_context) == (64, 99)
    adapted = load_run_config(DOORS, {"model.path": str(tmp_path), "model.lora": {"rank": 2}})
    assert adapted.agent == trained.agent
    assert (adapted.learner.optimizer.kind, adapted.learner.optimizer.lr) == ("adamw", 1e-5)
    assert adapted.learner.reference.kind == "initial"


def test_a_stored_configuration_is_left_as_it_is(chat_model: str) -> None:
    stored = load_run_config(DOORS, {"model.path": chat_model}).model_dump()
    assert load_run_config(stored, is_stored=True).model_dump() == stored
    del stored["agent"]["context"]["chat"]  # a run from before there were tools in this context
    assert load_run_config(stored, is_stored=True).model_dump() == stored


def test_a_run_stores_its_defaults_and_resumes_with_them(chat_model: str, tmp_path: Path) -> None:
    run = train(DOORS, {**SMALL, "model.path": chat_model}, folder=tmp_path)
    with RunStore(run.folder / "run.sqlite") as store:
        stored = store.meta()["config"]
        assert store.series("kl_reference")
    assert stored["learner"]["optimizer"]["lr"] == 1e-6
    context = {"method": "chat", "chat": {"tools": True}}
    assert stored["agent"] == {"context": context, "constrain": False, "invalid_limit": None}
    assert load_run_config(stored, is_stored=True) == load_run_config(DOORS, {**SMALL, "model.path": chat_model})


def test_a_run_with_plain_text_prints_a_warning_at_its_start(plain_model: str, tmp_path: Path) -> None:
    heard = Heard()
    train(DOORS, {**SMALL, "model.path": plain_model}, folder=tmp_path, callback=heard)
    assert "has no chat template" in heard.notes[0]


def test_the_plan_shows_the_settings_that_matter_for_learning(
    chat_model: str, plain_model: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        f'[env]\nid = "examples.doors:Doors"\n[model]\npath = "{chat_model}"\n[learner.reference]\nweight = 0.5\n'
    )
    done = CliRunner().invoke(app, ["train", str(file), "--plan", "--on", "h100", "--json"])
    assert done.exit_code == 0, done.output
    found = {each["name"]: (each["value"], each["source"]) for each in json.loads(done.stdout)["settings"]}
    assert found["learner.optimizer.lr"] == (1e-6, "pretrained default")
    assert found["learner.reference.weight"] == (0.5, "configuration")
    assert found["agent.context.method"] == ("chat", "pretrained default")
    assert found["agent.constrain"] == (False, "pretrained default")
    assert found["sampling.max_reply_tokens"] == (512, "pretrained default")
    text = CliRunner().invoke(app, ["train", str(file), "--plan", "--on", "h100"]).stdout
    (line,) = (line for line in text.splitlines() if line.startswith("learner.optimizer.lr "))
    assert line.split() == ["learner.optimizer.lr", "1e-06", "default", "for", "pretrained", "models"]
    done = CliRunner().invoke(app, ["train", str(file), "--set", f"model.path={plain_model}", "--plan", "--on", "h100"])
    assert "has no chat template" in done.stderr
