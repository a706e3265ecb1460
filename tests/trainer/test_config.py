"""The configuration of a run: misspelt keys, unknown names and senseless combinations are refused at load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cairn.core.config import nest
from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.trainer.config import RunConfig, find_run, load_run_config

DOORS: dict[str, Any] = {"env": {"id": "examples.doors:Doors"}}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"trainer.updatse": 3}, r"unknown key 'trainer.updatse'; did you mean 'updates'\?"),
        ({"traner.updates": 3}, r"unknown key 'traner'; did you mean 'trainer'\?"),
        ({"learner.optimizer.lr": "fast"}, r"learner.optimizer.lr: .*got 'fast'"),
        ({"learner.optimizer.lr": 0}, r"learner.optimizer.lr: .*greater than 0"),
        ({"learner.optimizer.kind": "sgd"}, r"learner.optimizer.kind: .*got 'sgd'"),
        ({"trainer.updates": -1}, r"trainer.updates: .*greater than or equal to 0"),
        ({"sampling.slots": 0}, r"sampling.slots"),
        ({"model.dtype": "float16"}, r"model.dtype: .*'float32' or 'bfloat16'.*got 'float16'"),
        ({"name": "../elsewhere"}, r"name: "),
        ({"credit.method": "gigp"}, r"Unknown credit 'gigp'. Did you mean 'gigpo'\?"),
        ({"loss.method": "clipp"}, r"Unknown loss 'clipp'. Did you mean 'clip'\?"),
        ({"agent.context.method": "windows"}, r"Unknown context 'windows'. Did you mean 'window'\?"),
        ({"credit.gigpo.gama": 0.9}, r"credit.gigpo: unknown key 'gama'; did you mean 'gamma'\?"),
        ({"credit.grpo.gamma": 0.9}, r"credit.grpo: unknown key 'gamma'"),
        ({"credit.gigpo.gamma": 1.5}, r"credit.gigpo: gamma: .*got 1.5"),
        ({"credit.gama": 0.9}, r"credit: unknown key credit.gama; expected one of"),
        ({"credit.gigpo": 3}, r"credit.gigpo: expected a table of settings, got 3"),
        ({"loss.clip.dual": 1.1}, r"loss.clip: .*dual must exceed"),
        ({"env.id": "housold"}, r"Unknown environment 'housold'. Did you mean 'household'\?"),
        ({"env.config": {"turns": 3}}, r"env.config: unknown key 'turns'"),
        ({"eval.config": {"turn_limt": 3}}, r"eval.config: unknown key 'turn_limt'; did you mean 'turn_limit'\?"),
        ({"sampling.temperature": 0.0}, r"sampling.temperature must be above 0 for training"),
        ({"trainer.group_size": 1}, r"trainer.group_size must be at least 2"),
        ({"imitation.episodes": 5}, r"imitation.oracle: examples.doors:Doors has \('reader',\), got 'explorer'"),
    ],
)
def test_invalid_settings_are_rejected(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_run_config(DOORS, overrides)


def test_a_greedy_policy_may_be_evaluated() -> None:
    assert load_run_config(DOORS, {"sampling.temperature": 0.0, "trainer.updates": 0}).sampling.temperature == 0.0


def test_settings_of_a_method_that_is_not_chosen_wait_for_it() -> None:
    tables = {**DOORS, "credit": {"method": "grpo", "gigpo": {"gamma": 0.5}}}
    assert load_run_config(tables).credit.settings == {}
    assert load_run_config(tables, {"credit.method": "gigpo"}).credit.settings == {"gamma": 0.5}


def test_evaluation_settings_override_those_of_training() -> None:
    config = load_run_config({**DOORS, "eval": {"config": {"turn_limit": 4}}}, {"env.config": {"turn_limit": 3}})
    assert (config.env.config, config.eval_env) == ({"turn_limit": 3}, {"turn_limit": 4})


def test_flags_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('seed = 3\n[env]\nid = "examples.doors:Doors"\n[trainer]\nupdates = 7\ngroups = 4\n')
    config = load_run_config(file, {"trainer.updates": 9})
    assert (config.seed, config.trainer.updates, config.trainer.groups) == (3, 9, 4)


def test_an_error_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("sede = 3\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: unknown key 'sede'; did you mean 'seed'"):
        load_run_config(file)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"No configuration file 'nowhere\.toml'"):
        load_run_config("nowhere.toml")


def test_a_run_that_does_not_ship_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'quickstart'"):
        find_run("quikstart")


@pytest.mark.parametrize("file", sorted((ROOT / "configs" / "runs").glob("*.toml")), ids=lambda file: file.stem)
def test_every_run_that_ships_loads_by_name(file: Path) -> None:
    assert load_run_config(file.stem).name


def test_a_stored_configuration_is_the_same_again() -> None:
    config = load_run_config(DOORS, {"credit.gigpo.gamma": 0.5, "loss.clip.high": 0.28, "seed": 4})
    assert load_run_config(config.model_dump()) == config
    assert isinstance(config, RunConfig)


def test_every_error_is_a_wrong_request_and_no_bug() -> None:
    assert issubclass(ConfigError, CairnError)


@pytest.mark.parametrize(
    ("changes", "computes"),
    [
        ({}, True),
        ({"cluster.workers": 2}, True),
        ({"cluster.ranks": 2}, True),
        ({"cluster.workers": 2, "cluster.ranks": 2}, True),  # hf evaluates in the trainer's process
        ({"cluster.workers": 2, "cluster.ranks": 2, "sampling.method": "vllm"}, False),
        ({"cluster.workers": 2, "cluster.ranks": 2, "sampling.method": "vllm", "imitation.episodes": 1}, True),
    ],
)
def test_trainer_computes_unless_actors_do_all(changes: dict[str, Any], computes: bool) -> None:
    given = {"imitation.episodes": 0, **changes}
    assert RunConfig.model_validate(nest(given)).trainer_computes is computes
