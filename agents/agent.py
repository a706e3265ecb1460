"""An agent: how it sees and answers, and the back end that samples its replies; found by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.agents.backend import Backend
from cairn.agents.config import AgentConfig, BackendConfig, SamplingConfig
from cairn.agents.context.base import Context
from cairn.agents.flight import Manner
from cairn.agents.scripted import SCRIPT, is_scripted
from cairn.core.config import Config, build, merge
from cairn.core.errors import ConfigError
from cairn.core.plugins import BACKENDS, CONTEXTS

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy


_REMEDIES = {
    "ids": "choose a context that makes ids: chat, transcript or window",
    "messages": "choose 'messages', or sampling.openai.api = 'completions' if the server returns token ids",
}


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What plays."""

    name: str
    manner: Manner
    sampling: SamplingConfig
    policy: Policy | None = None  # None: the back end has no use for one

    def backend(self, **changes: Any) -> Backend:  # Any: fields of SamplingConfig
        """Return a new back end, with these settings changed."""
        return new_backend(self.sampling.model_copy(update=changes), self.policy)


def load_agent(name: str, settings: Mapping[str, Any] | None = None) -> Agent:  # Any: tables
    """Return the agent called `name`, with `settings` (tables ``agent`` and ``sampling``) on top of its own.

    Names: a script (see `agents.scripted`), ``openai:MODEL`` (a model behind a server), a run's folder (its newest
    checkpoint), a checkpoint, or a model's folder or hub name. A plain model, which says nothing of how it wants to be
    shown things, gets the settings' defaults.

    Raises:
        ConfigError: there is no such agent, or a setting is wrong.
    """
    kind, _, model = name.partition(":")
    if is_scripted(name):
        sampling = _sampling({"method": "scripted", "slots": 1, "scripted": {"agent": name}}, settings, name)
        return Agent(name=name, manner=SCRIPT, sampling=sampling)
    if kind == "openai":
        return _served(name, model, settings)
    folder = Path(name).expanduser()
    checkpoints = sorted((folder / "checkpoints").glob("update-*"))
    if (folder / "checkpoints").is_dir() and not checkpoints:
        raise ConfigError(f"The run at {name!r} has no checkpoint yet")
    place = checkpoints[-1] if checkpoints else folder
    file = place / "trainer.json"
    stored = json.loads(file.read_text())["config"] if file.is_file() else {}
    sampling = _sampling(stored.get("sampling", {}), settings, str(file))
    config = build(AgentConfig, merge(stored.get("agent", {}), (settings or {}).get("agent", {})), str(file))
    check(config, sampling)
    from cairn.agents.models.policy import load_pretrained  # torch

    policy = load_pretrained(str(place) if place.exists() else name)
    return Agent(name=name, manner=manner(config, policy), sampling=sampling, policy=policy)


def check(agent: AgentConfig, sampling: SamplingConfig, *, trains: bool = False) -> None:
    """See to it that context and back end go together.

    Raises:
        ConfigError: one makes what the other cannot read, replies cannot be constrained, or there is nothing to train
            on.
    """
    settings = build(BACKENDS.load(sampling.method)[1], sampling.settings, f"sampling.{sampling.method}")
    if not isinstance(settings, BackendConfig) or settings.reads == "scene":
        return
    context = agent.context.method
    made = "messages" if getattr(CONTEXTS.load(context)[0], "makes_messages", False) else "ids"
    if made != settings.reads:
        raise ConfigError(
            f"agent.context.method: {context!r} makes {made}, and sampling.method {sampling.method!r} as it is set "
            f"reads {settings.reads}; {_REMEDIES[settings.reads]}"
        )
    if trains and settings.reads != "ids":
        raise ConfigError(
            f"sampling.method: {sampling.method!r} as it is set gives text, without the token ids and logprobs that "
            "training needs; choose vllm_server, or sampling.openai.api = 'completions' with a server that returns them"
        )
    if agent.constrain and not settings.constrains:
        raise ConfigError(
            f"agent.constrain: {sampling.method!r} cannot keep replies to admissible actions, since its server takes "
            "no list of them; set agent.constrain = false"
        )


def _served(name: str, model: str, settings: Mapping[str, Any] | None) -> Agent:
    """Return a model behind a server."""
    defaults = {"method": "openai", "slots": 32, "max_reply_tokens": 1024, "openai": {"model": model or None}}
    sampling = _sampling(defaults, settings, name)
    served = build(BACKENDS.load(sampling.method)[1], sampling.settings, f"sampling.{sampling.method}")
    reads_text = getattr(served, "reads", "ids") == "messages"
    shown = {"context": {"method": "messages" if reads_text else "chat"}, "constrain": False}
    config = build(AgentConfig, merge(shown, (settings or {}).get("agent", {})), name)
    check(config, sampling)
    if reads_text:
        return Agent(name=name, manner=manner(config, None), sampling=sampling)
    from cairn.agents.models.policy import load_remote  # torch

    policy = load_remote(served.tokenizer or model)
    return Agent(name=name, manner=manner(config, policy), sampling=sampling, policy=policy)


def manner(config: AgentConfig, policy: Policy | None) -> Manner:
    """Return how a policy sees and answers; None: a model whose replies are text."""
    return Manner(
        new_context=lambda: new_context(config, policy),
        decode=policy.encoder.decode if policy is not None else lambda _: "",
        constrain=config.constrain,
    )


def new_context(config: AgentConfig, policy: Policy | None) -> Context:
    """Return a context for one episode."""
    context_class, config_class = CONTEXTS.load(config.context.method)
    settings: Config = build(config_class, config.context.settings, "agent.context")
    context: Context = context_class(settings, policy.encoder if policy is not None else None)
    return context


def new_backend(sampling: SamplingConfig, policy: Policy | None) -> Backend:
    """Return a back end, as the settings choose it."""
    backend_class, config_class = BACKENDS.load(sampling.method)
    settings: Config = build(config_class, sampling.settings, f"sampling.{sampling.method}")
    backend: Backend = backend_class(policy, sampling, settings)
    return backend


def _sampling(stored: Mapping[str, Any], over: Mapping[str, Any] | None, where: str) -> SamplingConfig:  # Any: tables
    sampling = build(SamplingConfig, merge(stored, (over or {}).get("sampling", {})), where)
    sampling.check(BACKENDS, "sampling")
    return sampling
