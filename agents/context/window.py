"""A fresh prompt every turn: task, last turns, current observation, admissible actions.

The environment's prompt module builds the prompt and parses the reply (for household: the published GiGPO format). If
the tokenizer has a chat template, the prompt is one user message; else it is plain text.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Literal, Protocol, cast

from pydantic import Field

from cairn.agents.context.base import ContextPlugin, Prompt
from cairn.agents.forms.base import Parsed
from cairn.agents.models.tokens import Encoder
from cairn.core.config import Config
from cairn.core.errors import ConfigError
from cairn.core.records import Observation


class WindowConfig(Config):
    """The prompt module and the turns in each prompt."""

    prompt: str = Field(
        "cairn.envs.household.prompt", description="Module with task_of, build_prompt, parse_reply, write_reply."
    )
    memory: Literal["full", "window", "markovian"] = Field(
        "window", description="full: all turns; window: the last `history`; markovian: the present observation."
    )
    history: int = Field(2, ge=0, description="Turns shown before the present one; with memory = 'window'.")


class _Read(Protocol):
    action: str
    is_valid: bool


class PromptModule(Protocol):
    """An environment's module that builds prompts and parses replies."""

    def task_of(self, intro: str) -> str:
        """Return the task stated in an episode's first text."""

    def build_prompt(
        self,
        *,
        task: str,
        history: Sequence[tuple[str, str]],
        observation: str,
        admissible: Sequence[str],
        history_length: int,
    ) -> str:
        """Return the prompt of one turn."""

    def parse_reply(self, reply: str) -> _Read:
        """Return the action of a reply."""

    def write_reply(self, action: str) -> str:
        """Return a valid reply with this action."""


class Window:
    """`agents.context.base.Context` that rebuilds its prompt each turn."""

    def __init__(self, config: WindowConfig, encoder: Encoder) -> None:
        self._config, self._encoder = config, encoder
        self._wording = load_wording(config.prompt)
        self._task: str | None = None
        self._history: list[tuple[str, str]] = []

    def prompt(self, observation: Observation) -> Prompt:
        """Return the whole prompt of this turn."""
        if self._task is None:
            try:
                self._task = self._wording.task_of(observation.text)
            except ValueError as error:
                raise ConfigError(
                    f"agent.context.window.prompt: {self._config.prompt!r} does not suit this environment: {error}"
                ) from error
        text = self._wording.build_prompt(
            task=self._task,
            history=self._history,
            observation=observation.text,
            admissible=observation.admissible or (),
            history_length=self._shown(),
        )
        return Prompt(self._encoder.chat.opening(text), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Record a turn."""
        self._history.append((observation.text, action))

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a valid reply and the end id."""
        return (*self._encoder.encode(self._wording.write_reply(action)), self._encoder.end_id)

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        """Parse a reply with the environment's prompt module."""
        read = self._wording.parse_reply(reply)
        return Parsed(action=read.action, is_valid=read.is_valid)

    def _shown(self) -> int:
        """Return the number of shown turns."""
        return {"full": len(self._history), "window": self._config.history, "markovian": 0}[self._config.memory]


def load_wording(name: str) -> PromptModule:
    """Import a prompt module.

    Raises:
        ConfigError: the module does not exist or lacks a function.
    """
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"agent.context.window.prompt: cannot import {name!r}: {error}") from error
    for function in ("task_of", "build_prompt", "parse_reply", "write_reply"):
        if not hasattr(module, function):
            raise ConfigError(f"agent.context.window.prompt: module {name!r} has no function {function!r}")
    return cast(PromptModule, module)  # cast: a module imported by name has no static type


CONTEXT = ContextPlugin(WindowConfig, Window)
