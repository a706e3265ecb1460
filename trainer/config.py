"""The configuration of a run, validated completely before the run starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any

from pydantic import ConfigDict, Field, model_validator

from cairn.agents.agent import check
from cairn.agents.config import AgentConfig, SamplingConfig
from cairn.agents.models.policy import ModelConfig
from cairn.agents.rollout.engine import LimitConfig
from cairn.agents.rollout.schedule import ScheduleConfig
from cairn.core.config import Config, as_table, build, merge, nest, read_toml
from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.core.plugin_config import PluginConfig
from cairn.core.plugins import BACKENDS, CONTEXTS, CREDITS, LOSSES, TRACKERS
from cairn.envs.base import EnvMeta
from cairn.envs.pool.pool import KeepConfig
from cairn.trainer.cluster.config import ClusterConfig
from cairn.trainer.credit.requirements import DeclaredEnv, check_training
from cairn.trainer.guards import GuardConfig
from cairn.trainer.learner.learner import LearnerConfig
from cairn.trainer.learner.optimizers import OptimizerConfig
from cairn.trainer.pretrained import check_template, pretrained_defaults
from cairn.trainer.trackers.base import TrackerConfig


class EnvChoice(Config):
    """An environment and its settings."""

    id: str = Field("household", description="Registered id, or package.module:Class.")
    config: dict[str, Any] = Field(
        default_factory=dict, description="The environment's own settings."
    )  # Any: its Config validates them


class ImitationConfig(Config):
    """Warm start: imitation of an oracle before reinforcement learning."""

    episodes: int = Field(0, ge=0, description="Demonstrations; 0: no warm start.")
    oracle: str = Field("explorer", description="Which oracle of the environment demonstrates.")
    config: dict[str, Any] = Field(
        default_factory=dict, description="Environment settings that differ from training's."
    )  # Any: the environment's Config validates them
    epochs: int = Field(1, ge=1, description="Passes over the demonstrations.")
    batch: int = Field(32, ge=1, description="Episodes in one optimiser step.")
    optimizer: OptimizerConfig = OptimizerConfig(kind="muon")
    warmup: int = Field(20, ge=0, description="Optimiser steps to the peak rates.")
    decay_to: float = Field(0.1, gt=0, le=1, description="Share of the peak rates at the last step.")
    entropy_weight: float = Field(
        0.0, ge=0, description="Of the entropy bonus: keeps the policy from becoming too sure to explore afterwards."
    )


class StoreConfig(Config):
    """The run's store file."""

    max_gb: float = Field(
        20.0,
        gt=0,
        description="Beyond it, the oldest texts, tokens and pictures are forgotten: training's, then evaluations'.",
    )

    @property
    def max_bytes(self) -> int:
        """Return the size limit in bytes."""
        return int(self.max_gb * 1e9)


class EvalConfig(Config):
    """Evaluation during training, on tasks outside the training set."""

    tasks: int = Field(100, ge=1, description="Most tasks to evaluate on, from the start of those that are eligible.")
    every: int = Field(10, ge=1, description="Updates between evaluations; the first and the last always have one.")
    temperature: float = Field(0.4, ge=0, description="Of sampling while evaluating.")
    holdout: float = Field(
        0.2,
        ge=0,
        lt=1,
        description="Largest share of the training tasks that is held out of training, where the evaluation "
        "environment lists too few other tasks. 0: training tasks are evaluated, and reports say so.",
    )
    holdout_seed: int = Field(
        0, ge=0, description="Seed of the choice of held-out tasks; runs with equal ones share them."
    )
    config: dict[str, Any] = Field(
        default_factory=dict, description="Environment settings that differ from training's."
    )  # Any: as above


class TrainerConfig(Config):
    """The training loop."""

    updates: int = Field(50, ge=0, description="Policy iterations.")
    groups: int = Field(16, ge=1, description="Tasks in an update.")
    group_size: int = Field(8, ge=1, description="Episodes of each task.")
    checkpoint_every: int = Field(10, ge=1, description="Updates between checkpoints.")
    keep_checkpoints: int = Field(2, ge=1, description="How many of the newest are kept.")
    max_failed_share: float = Field(
        0.25,
        ge=0,
        le=1,
        description="The run stops when more of the episodes of an update, evaluation or warm start failed.",
    )
    retries: int = Field(1, ge=0, description="Further attempts at an episode that failed, in a fresh environment.")
    similarity: float | None = Field(
        None, gt=0, le=1, description="Observations this alike are one anchor; none: the environment's anchors."
    )
    threads: int | None = Field(None, ge=1, description="CPU threads of torch; None: as many as there are cores.")
    deterministic: bool = Field(False, description="Two runs with one seed on one machine are equal bit for bit.")


class TrackersConfig(Config):
    """Metric trackers besides the run's store; a table with a tracker's name turns it on."""

    model_config = ConfigDict(frozen=True, extra="allow")
    tensorboard: dict[str, Any] = Field(
        default_factory=dict, description="On unless `tensorboard.on = false`."
    )  # Any: its Config validates them

    def chosen(self) -> dict[str, TrackerConfig]:
        """Return the settings of the enabled trackers, by name.

        Raises:
            ConfigError: the tracker or one of its settings is unknown.
        """
        tables = {"tensorboard": self.tensorboard, **(self.model_extra or {})}
        built = {name: _tracker_config(name, values) for name, values in tables.items()}
        return {name: config for name, config in built.items() if config.on}


def _tracker_config(name: str, values: Any) -> TrackerConfig:  # Any: the file's value, unchecked
    where = f"trackers.{name}"
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: expected a table of settings, such as {where}.on = true, got {values!r}")
    config: TrackerConfig = TRACKERS.config(name, values, where)
    return config


class RunConfig(Config):
    """The complete configuration of a run."""

    name: str = Field("run", pattern=r"^[A-Za-z0-9][\w.-]*$", description="Start of the run folder's name.")
    seed: int = Field(0, ge=0, description="Of everything random.")
    env: EnvChoice = EnvChoice()
    model: ModelConfig = ModelConfig()
    agent: AgentConfig = AgentConfig()
    sampling: SamplingConfig = SamplingConfig()
    pool: KeepConfig = KeepConfig()
    limits: LimitConfig = LimitConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    imitation: ImitationConfig = ImitationConfig()
    trainer: TrainerConfig = TrainerConfig()
    credit: PluginConfig = PluginConfig(method="gigpo")
    loss: PluginConfig = PluginConfig(method="clip")
    learner: LearnerConfig = LearnerConfig()
    guards: GuardConfig = GuardConfig()
    eval: EvalConfig = EvalConfig()
    store: StoreConfig = StoreConfig()
    cluster: ClusterConfig = ClusterConfig()
    trackers: TrackersConfig = TrackersConfig()

    @model_validator(mode="after")
    def _check(self) -> RunConfig:
        if self.trainer.updates and self.sampling.temperature == 0:
            raise ValueError(
                "sampling.temperature must be above 0 for training: a greedy policy has nothing to compare"
            )
        return self

    @property
    def trainer_computes(self) -> bool:
        """Whether the trainer's process itself computes with the policy: it learns, samples, evaluates or imitates.

        vLLM evaluates in processes of its own.
        """
        is_apart = self.cluster.ranks > 1 and self.cluster.workers > 0 and self.sampling.method != "hf"
        return not is_apart or self.imitation.episodes > 0

    @property
    def imitation_env(self) -> dict[str, Any]:  # Any: the environment's Config validates them
        """Environment settings of the demonstrations."""
        return merge(self.env.config, self.imitation.config)

    @property
    def eval_env(self) -> dict[str, Any]:  # Any: the environment's Config validates them
        """Environment settings of the evaluation."""
        return merge(self.env.config, self.eval.config)


def load_run_config(
    source: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | None = None,
    *,
    is_stored: bool = False,
) -> RunConfig:
    """Return the configuration of a TOML file or of tables, with overrides on top.

    Overrides have dotted names, such as ``{"trainer.updates": 10}``.

    A file may contain ``base = "name"``; it then holds only the differences from that run. With a pretrained model,
    missing settings come from `trainer.pretrained`, unless `is_stored`: the source is then a configuration that a run
    has stored, in which no setting is missing.

    Raises:
        ConfigError: it cannot be read, has unknown keys or values of the wrong type, or its parts exclude each other.
    """
    tables, where = _given(source, overrides)
    # A method's settings may be given without its name if it is the default method.
    methods = RunConfig().model_dump(include={"credit": True, "loss": True, "agent": {"context"}})
    defaults = {} if is_stored else nest(pretrained_defaults(tables))
    config = build(RunConfig, merge(merge(methods, defaults), tables), where)
    if not is_stored:
        check_template(config)
    try:
        config.credit.check(CREDITS, "credit")
        config.loss.check(LOSSES, "loss")
        config.agent.context.check(CONTEXTS, "agent.context")
        config.sampling.check(BACKENDS, "sampling")
        check(config.agent, config.sampling, trains=config.trainer.updates > 0)
        config.trackers.chosen()
        declared = _check_env(config)
        if config.trainer.updates:
            check_training(
                config.credit.method,
                config.credit.settings,
                DeclaredEnv(
                    env_id=config.env.id,
                    parts=declared.parts,
                    channels=declared.channels,
                    has_terminal_reward=declared.has_terminal_reward,
                    least_score=declared.reward_range[0],
                ),
                config.trainer.group_size,
            )
    except ConfigError:
        raise
    except CairnError as error:
        raise ConfigError(f"{where}: {error}") from error
    return config


def _given(source: str | Path | Mapping[str, Any], overrides: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
    """Return the settings given by the user, and the name of their source for messages."""
    over = nest(as_table(overrides, "overrides"))
    if isinstance(source, Mapping):
        return merge(as_table(source, "configuration"), over), "configuration"
    if not isinstance(source, (str, Path)):
        raise ConfigError(f"Expected a TOML file, the name of a run, or tables of settings, got {source!r:.100}")
    return merge(_read(find_run(source)), over), str(source)


def defaulted(source: str | Path | Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> frozenset[str]:
    """Return the dotted names of settings that `load_run_config` takes from pretrained defaults."""
    return frozenset(pretrained_defaults(_given(source, overrides)[0]))


def _read(path: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:  # Any: TOML
    """Return a file's tables merged over those of its `base`.

    The base is a file in the same folder, or a shipped run.
    """
    if path.resolve() in above:
        raise ConfigError(f"{path}: base leads back to itself")
    tables = read_toml(path)
    base = tables.pop("base", None)
    if base is None:
        return tables
    beside = path.parent / f"{base}.toml"
    return merge(_read(beside if beside.is_file() else find_run(str(base)), (*above, path.resolve())), tables)


def find_run(source: str | Path) -> Path:
    """Return the configuration file of a path or of a shipped run's name.

    Raises:
        UnknownNameError: it is neither an existing path nor a shipped run.
    """
    path, folder = Path(source), Path(str(files("cairn.configs"))) / "runs"
    if os.path.isdir(path):
        resume = f"cairn train --resume {quote(str(source))}"
        raise ConfigError(f"{str(source)!r} is a folder; to continue the run in it: {resume}")
    if path.suffix == ".toml" or os.path.exists(path):
        return path
    shipped = {file.stem: file for file in folder.glob("*.toml")}
    if str(source) not in shipped:
        raise UnknownNameError("run", str(source), shipped, f"ls {folder}")
    return shipped[str(source)]


def _check_env(config: RunConfig) -> EnvMeta:
    """Validate the environment's settings and return its declarations for training."""
    from cairn.envs.registry import load

    env_class = load(config.env.id)
    settings = build(env_class.Config, config.env.config, "env.config")
    build(env_class.Config, config.eval_env, "eval.config")
    build(env_class.Config, config.imitation_env, "imitation.config")
    if config.imitation.episodes and config.imitation.oracle not in env_class.meta.oracles:
        raise ConfigError(
            f"imitation.oracle: {config.env.id} has {env_class.meta.oracles}, got {config.imitation.oracle!r}"
        )
    return env_class.declare(settings)
