"""The quick start's environment and policy, for benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.agents.models.policy import Policy, load_policy
from cairn.envs.base import TextEnv
from cairn.envs.registry import make
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.sft import environment_texts

_TASKS = 1000  # enough for a benchmark, and for a tokenizer


def settings(overrides: Mapping[str, Any] | None = None) -> RunConfig:  # Any: values of all kinds
    """Return the quick start's configuration over fewer tasks."""
    return load_run_config("quickstart", {"env.config.num_tasks": _TASKS, **(overrides or {})})


def environment(**config: Any) -> TextEnv:  # Any: the environment's Config validates them
    """Return the environment."""
    choice = settings().env
    return make(choice.id, **{**choice.config, **config})


def fresh_policy() -> Policy:
    """Return the policy with newly initialised weights, equal for all calls."""
    config, tasks = settings(), environment().tasks()
    return load_policy(config.model, lambda: environment_texts(config, tasks), seed=0)
