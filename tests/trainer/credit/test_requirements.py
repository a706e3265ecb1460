"""Every credit method trains an update, or its run is refused when the configuration is loaded, with the reason."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cairn.core.errors import ConfigError
from cairn.core.plugins import CREDITS
from cairn.core.store import RunStore
from cairn.core.table import StepTable
from cairn.envs.base import EnvConfig, EnvMeta, Outcome
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.credit import advantages
from cairn.trainer.train import train
from examples.doors import Doors
from tests.agents.tiny import shared
from tests.sampling import sampled_params

pytestmark = pytest.mark.rotating(3)

METHODS = CREDITS.ids()
LONERS = [name for name in METHODS if "lone" in CREDITS.load(name).violates]


class Graded(Doors):
    """Three doors at most, with two parts of the reward and a channel of every kind that some method reads."""

    class Config(EnvConfig):
        graded: bool = True

    @classmethod
    def declare(cls, config: EnvConfig) -> EnvMeta:
        assert isinstance(config, Graded.Config)
        if not config.graded:
            return cls.meta
        parts, channels = ("door", "key"), ("match", "implicit", "change", "test/*")
        return replace(cls.meta, parts=parts, channels=channels, has_terminal_reward=False)

    def start(self, task_id: str, rng: random.Random) -> str:
        self.rng = rng
        return super().start(task_id, rng)

    def admissible(self) -> tuple[str, ...]:
        return (
            super().admissible() if not self.has_key else tuple(sorted({f"open {self.goal}", "open blue", "open red"}))
        )

    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        parts = {"door": outcome.reward, "key": 0.25 * (action == "take key") + 0.1 * self.rng.random()}
        implicit, change, passed = self.rng.random(), 0.9 + 0.2 * self.rng.random(), float(self.has_key)
        outcome.channels = {**parts, "match": 1.0, "implicit": implicit, "change": change, "test/key": passed}
        outcome.reward = sum(parts.values())
        return outcome


TINY: dict[str, Any] = {
    "env": {"id": f"{__name__}:Graded"},
    "model": {"preset": "qwen3-nano", "vocab_size": 400},
    "sampling": {"slots": 8, "max_context": 256},
    "trainer": {"updates": 1, "groups": 4, "group_size": 3, "threads": 1},
    "eval": {"tasks": 1},
    "trackers": {"tensorboard": {"on": False}},
}
NO_VALUES = r"needs state values \(column value\), and no value source exists in training yet"
NO_ROLES = r"needs the agent of each turn \(column role\), and no environment of several agents exists yet"
NO_TREES = r"needs a rollout tree \(column node\), and training samples each episode from its start"
REFUSED = {
    **dict.fromkeys(["egae", "gae", "pav", "polychromic", "remax", "spo_chain"], NO_VALUES),
    **dict.fromkeys(["advantage_alignment", "m_grpo"], NO_ROLES),
    **dict.fromkeys(["branch_grpo", "spo_tree"], NO_TREES),
    "r3l": r"needs a mask of the turns to train on \(column trained\), and training masks none yet",
    "tigpo": r"needs episodes of earlier updates \(column past\), and training keeps none yet",
}


@pytest.mark.parametrize("method", sampled_params(METHODS, parts=3))
def test_a_method_trains_an_update_or_is_refused_at_load(method: str, tmp_path: Path) -> None:
    try:
        config = load_run_config(TINY, {"credit.method": method})
    except ConfigError as refusal:
        assert re.match(rf"credit\.method: '{method}' needs .*, and .*; compute it from Python", str(refusal))  # noqa: PT017
        return
    train(config, folder=tmp_path)
    with RunStore.read(tmp_path) as store:
        assert store.series("zero_advantage")[0][1] < 1


@pytest.mark.parametrize(("method", "reason"), REFUSED.items())
def test_a_method_whose_columns_training_does_not_fill_is_refused(method: str, reason: str) -> None:
    expected = (
        f"credit.method: '{method}' {reason}; compute it from Python with cairn.advantages\\(table, '{method}'\\)"
    )
    with pytest.raises(ConfigError, match=expected):
        load_run_config(TINY, {"credit.method": method})


@pytest.mark.parametrize(
    ("method", "settings", "reason"),
    [
        ("gdpo", {}, r"needs parts of the reward, and environment .*Graded' declares none \(EnvMeta\.parts\)"),
        ("g_ra", {}, r"needs parts of the reward, and environment .*Graded' declares none \(EnvMeta\.parts\)"),
        ("ui_s1", {}, "needs the channel 'match', and environment .*Graded' declares none"),
        ("oprl", {}, "needs the channel 'implicit', and environment .*Graded' declares none"),
        ("seeupo", {}, "needs the channel 'change', and environment .*Graded' declares none"),
        ("verpo", {}, r"needs the channel 'test/\*', and environment .*Graded' declares none"),
        ("verpo", {"tests": ["test/key"]}, "needs the channel 'test/key', and environment .*Graded' declares none"),
    ],
)
def test_a_method_whose_channels_no_environment_emits_is_refused(
    method: str, settings: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        load_run_config(TINY, {"env.config.graded": False, "credit": {"method": method, method: settings}})


@pytest.mark.parametrize(
    ("method", "settings", "reason"),
    [
        ("gdpo", {"weights": {"dor": 2.0}}, r"needs the part of the reward 'dor', .* declares 'door', 'key'"),
        ("gdpo", {"weights": {"match": 2.0}}, r"needs the part of the reward 'match', .* declares 'door', 'key'"),
        ("g_ra", {"priority": ["match"]}, r"needs the part of the reward 'match', .* declares 'door', 'key'"),
        ("oprl", {"channel": "prm"}, r"needs the channel 'prm', .* declares 'door', 'key', 'match', .*, 'test/\*'"),
    ],
)
def test_a_channel_that_a_setting_names_must_be_declared(method: str, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        load_run_config(TINY, {"credit": {"method": method, method: settings}})


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("gdpo", {"weights": {"key": 0.5}}),
        ("g_ra", {"priority": ["door", "key"]}),
        ("oprl", {"channel": "key"}),  # a part of the reward is a channel, too
        ("verpo", {"tests": ["test/key", "test/7"]}),
    ],
)
def test_channels_may_be_declared_by_name_by_pattern_or_as_parts(method: str, settings: dict[str, Any]) -> None:
    assert load_run_config(TINY, {"credit": {"method": method, method: settings}}).credit.settings == settings


@pytest.mark.parametrize("method", [name for name in METHODS if "a terminal reward" in CREDITS.load(name).assumes])
def test_a_method_that_assumes_a_terminal_reward_is_refused_where_none_is_declared(method: str) -> None:
    if method not in REFUSED:
        load_run_config(TINY, {"credit.method": method, "env.config.graded": False})
        with pytest.raises(
            ConfigError, match=rf"'{method}' needs a terminal reward, .*Graded' may give rewards before"
        ):
            load_run_config(TINY, {"credit.method": method})


class Fined(Doors):
    """Doors whose scores go below 0."""

    meta = replace(Doors.meta, reward_range=(-1, 1))


@pytest.mark.parametrize("method", ["a_grae", "psr_nsr"])
def test_a_method_that_assumes_scores_of_0_or_more_is_refused_where_they_are_not(method: str) -> None:
    with pytest.raises(ConfigError, match=rf"'{method}' needs scores of 0 or more, .*Fined' has scores from -1"):
        load_run_config(TINY, {"credit.method": method, "env": {"id": f"{__name__}:Fined"}})


def test_a_refusal_lists_the_methods_that_this_environment_can_train() -> None:
    with pytest.raises(ConfigError, match=r"or train with one of: .*g_ra, gagpo, .*gdpo.*gigpo.*verpo"):
        load_run_config(TINY, {"credit.method": "gae"})
    with pytest.raises(ConfigError, match=r"one of: (?!.*gdpo).*gigpo"):
        load_run_config(TINY, {"credit.method": "gae", "env.config.graded": False})


@pytest.mark.parametrize("method", ["gae", "gdpo", "grpo"])
def test_a_run_without_updates_may_name_any_method(method: str) -> None:
    overrides = {"trainer.updates": 0, "trainer.group_size": 1, "credit.method": method, "env.config.graded": False}
    assert load_run_config(TINY, overrides).credit.method == method


def lone_episodes(rewards: Sequence[float]) -> StepTable:
    """Return groups of one episode: seven turns in different states, a reward at the end, and all optional columns."""
    n = 7 * len(rewards)
    turn = np.tile(np.arange(7), len(rewards))
    episode = np.repeat(np.arange(len(rewards)), 7)
    reward = np.where(turn == 6, np.repeat(rewards, 7), 0.0)
    return StepTable.from_columns(
        group=episode, episode=episode, turn=turn,
        anchor=np.arange(n), action=np.arange(n), reward=reward, parts=("won",),
        channels={
            "won": reward, "match": np.ones(n), "implicit": turn / 8, "change": np.ones(n),
            "outcome": np.arange(n), "test/0": (turn > 0).astype(float),
        },
        length=np.ones(n), logprob=-np.ones(n), value=np.full(n, 0.3), role=np.zeros(n, np.int64),
    )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_lone_episodes_have_advantages_exactly_where_the_property_is_violated(method: str) -> None:
    found = advantages(lone_episodes([1.0, 0.0, 1.0, 0.0]), method)
    assert found.any() == (method in LONERS)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in LONERS])
def test_one_episode_a_task_is_refused_where_it_has_no_advantage(method: str) -> None:
    with pytest.raises(ConfigError, match=r"^(credit\.method: |trainer\.group_size must be at least 2: credit )'"):
        load_run_config(TINY, {"credit.method": method, "trainer.group_size": 1})


@pytest.mark.parametrize("method", [name for name in LONERS if name not in REFUSED])
def test_one_episode_a_task_trains_where_it_has_an_advantage(method: str, tmp_path: Path) -> None:
    is_graded = "a terminal reward" not in CREDITS.load(method).assumes
    overrides = {"credit.method": method, "trainer.group_size": 1, "env.config.graded": is_graded}
    train(TINY, overrides, folder=tmp_path)
    with RunStore.read(tmp_path) as store:
        assert store.series("zero_advantage")[0][1] < 1


SHIPPED: tuple[dict[str, Any], ...] = (  # the first of these that a method can train on
    {"id": "household", "config": {"split": "gen-train", "size": "tiny", "num_tasks": 20, "turn_limit": 3}},
    {"id": "gui/replay", "config": {}},
    {"id": "code", "config": {"kind": "repair", "turn_limit": 2, "tests": "turns", "most_chars": 200}},
)
NO_SHIPPED = ("oprl", "seeupo")  # they read channels of models that training does not have yet


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    shared().save(folder)
    return folder


def on_shipped(env: dict[str, Any], method: str, model: Path) -> RunConfig:
    tables = {
        "env": env,
        "model": {"path": str(model)},
        "agent": {"context": {"method": "transcript"}, "constrain": env["id"] == "household"},
        "sampling": {"slots": 8, "max_context": 8192, "max_reply_tokens": 8},
        "trainer": {"updates": 1, "groups": 2, "group_size": 3, "threads": 1},
        "learner": {"reference": {"kind": "none", "weight": 0.0}},
        "eval": {"tasks": 1},
        "trackers": {"tensorboard": {"on": False}},
    }
    return load_run_config(tables, {"credit.method": method})


@pytest.mark.parametrize("method", sampled_params(METHODS))
def test_a_method_trains_on_a_shipped_environment_or_is_refused_on_all(
    method: str, model: Path, tmp_path: Path
) -> None:
    refusals = []
    for env in SHIPPED:
        try:
            config = on_shipped(env, method, model)
        except ConfigError as refusal:
            refusals.append(str(refusal))
            continue
        run = train(config, folder=tmp_path)
        assert run.is_finished
        with RunStore.read(tmp_path) as store:
            assert store.series("success")[0][0] == 1
        return
    assert method in (*REFUSED, *NO_SHIPPED)
    assert all(f"credit.method: {method!r} needs " in refusal for refusal in refusals)
