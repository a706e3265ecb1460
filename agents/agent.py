"""An agent: how it sees and answers, and the back end that samples its replies; found by name."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.agents.backend import Backend
from cairn.agents.config import AgentConfig, BackendConfig, SamplingConfig
from cairn.agents.context.base import Context
from cairn.agents.conversation import ConversationConfig
from cairn.agents.flight import Manner
from cairn.agents.prompts import hashes_of
from cairn.agents.scripted import KINDS as SCRIPTED
from cairn.agents.scripted import SCRIPT, is_scripted
from cairn.agents.trained_tasks import TrainedTasks
from cairn.core.config import Config, build, merge
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.core.plugins import BACKENDS, CONTEXTS

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy


KINDS = (*SCRIPTED, "openai")  # what stands before the colon of an agent's name
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
    settings: Mapping[str, Any] = field(default_factory=dict)  # Any: how it sees and answers, as JSON
    place: Path | None = None  # the folder of its weights
    prompts: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of what it is told, by setting
    trained: TrainedTasks | None = None  # the tasks that its policy was trained on; None: not known

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
    _refuse_unknown(settings or {})
    kind, _, model = name.partition(":")
    if is_scripted(name):
        if set_in_vain := sorted((settings or {}).get("agent", {})):
            raise ConfigError(f"{name!r} is a script: it has no setting agent.{set_in_vain[0]}; leave it out")
        sampling = _sampling({"method": "scripted", "slots": 1, "scripted": {"agent": name}}, settings, name)
        return Agent(name=name, manner=SCRIPT, sampling=sampling)
    if kind == "openai":
        return _served(name, model, settings)
    place, kept = stored_state(name)
    file = place / "trainer.json"
    stored, own = kept.get("config", {}), (settings or {}).get("agent", {})
    sampling = _sampling(stored.get("sampling", {}), settings, str(file))
    config = build(AgentConfig, merge(stored.get("agent", {}), own), str(file))
    check(config, sampling)
    prompts = prompt_hashes(config)
    if not own.get("context"):  # else the settings say which prompts are meant
        refuse_other_prompts(prompts, kept.get("prompts", {}), name)
    from cairn.agents.models.policy import load_pretrained  # torch

    policy = load_pretrained(str(place) if place.exists() else name)
    policy.version = int(kept.get("update", 0))
    return Agent(
        name=name,
        manner=manner(config, policy),
        sampling=sampling,
        policy=policy,
        settings=config.model_dump(mode="json"),
        place=place if place.exists() else None,
        prompts=prompts,
        trained=TrainedTasks.from_checkpoint(kept),
    )


def stored_state(name: str) -> tuple[Path, dict[str, Any]]:  # Any: JSON
    """Return the folder of an agent's weights, and the state that the trainer stored beside them; {}: none.

    Raises:
        ConfigError: there is no such agent, or its run has no checkpoint yet.
    """
    folder = Path(name).expanduser()
    checkpoints = sorted((folder / "checkpoints").glob("update-*"))
    if ((folder / "run.sqlite").is_file() or (folder / "checkpoints").is_dir()) and not checkpoints:
        raise ConfigError(f"The run at {name!r} has no checkpoint yet")
    if not folder.exists():
        _refuse_missing(name)
        _refuse_misspelt(name)
    place = checkpoints[-1] if checkpoints else folder
    file = place / "trainer.json"
    return place, json.loads(file.read_text()) if file.is_file() else {}


def _refuse_unknown(settings: Mapping[str, Any]) -> None:  # Any: tables
    for name in settings:
        if name not in ("agent", "sampling"):
            example = "sampling.max_reply_tokens=64"
            raise ConfigError(f"agent: unknown key {name!r}; expected agent.KEY or sampling.KEY, such as {example}")


def _refuse_missing(name: str) -> None:
    """Refuse what can only be a folder, before a hub is asked for it: no model there has such a name.

    Raises:
        ConfigError: it is.
    """
    if name.startswith(("runs/", "evals/", ".", "/", "~")) or name.count("/") > 1:
        raise ConfigError(f"There is no folder {name!r}: expected a run, a checkpoint or a model; cairn eval --help")


def _refuse_misspelt(name: str) -> None:
    """Refuse what is nearly the name of an agent, before a hub is asked for a model of that name.

    Raises:
        UnknownNameError: it is.
    """
    kind, colon, _ = name.partition(":")
    if colon or difflib.get_close_matches(kind, KINDS, n=1, cutoff=0.8):
        raise UnknownNameError("agent", kind, KINDS, "cairn eval --help")


def check_installed(sampling: SamplingConfig) -> None:
    """See to it that the back end's packages are here, before anything long that leads to its use.

    Raises:
        MissingExtraError: they are not.
    """
    look = getattr(BACKENDS.load(sampling.method)[0], "check_installed", None)
    if look is not None:
        look()


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
    prompts = prompt_hashes(config)
    if reads_text:
        return Agent(
            name=name,
            manner=manner(config, None),
            sampling=sampling,
            settings=config.model_dump(mode="json"),
            prompts=prompts,
        )
    from cairn.agents.models.policy import load_remote  # torch

    policy = load_remote(served.tokenizer or model)
    return Agent(
        name=name,
        manner=manner(config, policy),
        sampling=sampling,
        policy=policy,
        settings=config.model_dump(mode="json"),
        prompts=prompts,
    )


def manner(config: AgentConfig, policy: Policy | None) -> Manner:
    """Return how a policy sees and answers; None: a model whose replies are text."""
    return Manner(
        new_context=contexts(config, policy),
        decode=policy.encoder.decode if policy is not None else lambda _: "",
        constrain=config.constrain,
    )


def contexts(config: AgentConfig, policy: Policy | None) -> Callable[[], Context]:
    """Return what makes a context for each episode; files that the settings name are read once, now."""
    context_class = CONTEXTS.load(config.context.method)[0]
    settings, encoder = _context_settings(config), policy.encoder if policy is not None else None

    def made() -> Context:
        context: Context = context_class(settings, encoder)
        return context

    return made


def new_context(config: AgentConfig, policy: Policy | None) -> Context:
    """Return a context for one episode."""
    return contexts(config, policy)()


def prompt_hashes(config: AgentConfig) -> dict[str, str]:
    """Return the SHA-256 of each text that the agent is told whatever it is shown, by setting."""
    settings = _context_settings(config)
    return hashes_of(settings.prompts()) if isinstance(settings, ConversationConfig) else {}


def new_backend(sampling: SamplingConfig, policy: Policy | None) -> Backend:
    """Return a back end, as the settings choose it."""
    backend_class, config_class = BACKENDS.load(sampling.method)
    settings: Config = build(config_class, sampling.settings, f"sampling.{sampling.method}")
    backend: Backend = backend_class(policy, sampling, settings)
    return backend


def refuse_other_prompts(now: Mapping[str, str], trained: Mapping[str, str], name: str) -> None:
    """See to it that a checkpoint is told what it was trained with; both are hashes by setting.

    Raises:
        ConfigError: it is not.
    """
    if changed := [key for key, digest in trained.items() if now.get(key) != digest]:
        raise ConfigError(
            f"{name!r} was trained with another {changed[0]} than its configuration leads to now: a prompt's file was "
            "changed. Put the old text back; or, to evaluate, say which one is meant by --agent-set agent.context..."
        )


def _context_settings(config: AgentConfig) -> Config:
    settings: Config = build(
        CONTEXTS.load(config.context.method)[1], config.context.settings, f"agent.context.{config.context.method}"
    )
    return settings


def _sampling(stored: Mapping[str, Any], over: Mapping[str, Any] | None, where: str) -> SamplingConfig:  # Any: tables
    sampling = build(SamplingConfig, merge(stored, (over or {}).get("sampling", {})), where)
    sampling.check(BACKENDS, "sampling")
    return sampling
