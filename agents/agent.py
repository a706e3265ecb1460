"""Loads agents by name: prompts, parsing, and the back end that samples replies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.agents.backend import Backend
from cairn.agents.code_agent import AgentCode, CodeAgent, code_agent, is_code
from cairn.agents.config import AgentConfig, BackendConfig, SamplingConfig
from cairn.agents.context.base import Context, ContextPlugin
from cairn.agents.conversation import ConversationConfig
from cairn.agents.models.model_files import (
    HUB,
    REPLY_TOKENS,
    can_call_tools,
    download_settings,
    interface_defaults,
    local_folder,
    missing_template,
    plain_text_warning,
    read_files,
    read_json,
)
from cairn.agents.models.templates import OWN_TEMPLATE, TemplateChoice, load_template
from cairn.agents.prompts import hashes_of
from cairn.agents.rollout.episode import PolicyInterface
from cairn.agents.scripted import KINDS as SCRIPTED
from cairn.agents.scripted import SCRIPT, is_scripted
from cairn.agents.stored_settings import agent_of, sampling_of
from cairn.agents.trained_tasks import TrainedTasks
from cairn.core.config import Config, as_table, build, merge, nest
from cairn.core.errors import CairnWarning, ConfigError, UnknownNameError
from cairn.core.folders import FILE as MANIFEST
from cairn.core.folders import check_manifest
from cairn.core.plugins import BACKENDS, CONTEXTS

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy


KINDS = (*SCRIPTED, "openai")  # prefixes of an agent's name, before the colon
_CODE_SLOTS = 16  # episodes in flight for async code or a class
_REMEDIES = {
    "ids": "choose a context that makes ids: chat, transcript or window",
    "messages": "choose 'messages', or sampling.openai.api = 'completions' if the server returns token ids",
}


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent that can play episodes."""

    name: str
    interface: PolicyInterface
    sampling: SamplingConfig
    policy: Policy | None = None  # None: the back end does not use one
    code: CodeAgent | None = None  # None: it is not Python code
    settings: Mapping[str, Any] = field(default_factory=dict)  # Any: `AgentConfig` as JSON
    place: Path | None = None  # the folder of its weights
    prompts: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of its prompts, by setting
    trained: TrainedTasks | None = None  # the tasks that its policy was trained on; None: not known
    warning: str = ""  # reason why its results may not be meaningful; "": none known

    def backend(self, **changes: Any) -> Backend:  # Any: fields of SamplingConfig
        """Return a new back end, with these settings changed."""
        return new_backend(self.sampling.model_copy(update=changes), self.code or self.policy)


def load_agent(name: str | AgentCode, settings: Mapping[str, Any] | None = None) -> Agent:  # Any: tables
    """Return an agent, with `settings` merged over its own.

    Args:
        name: a script (see `agents.scripted`); a function or a class, or ``package.module:name`` of one (see
            `agents.code_agent`); ``openai:MODEL`` (a model behind a server); a run's folder (its newest checkpoint), a
            checkpoint, a model's folder, or the name of a model on a hub: ``ORG/MODEL`` or ``hf:MODEL``.
        settings: tables ``agent``, ``sampling`` and ``model``; of ``model``, only ``chat_template`` and
            ``chat_template_values`` are allowed.

    A model that Cairn has not trained has the defaults of `agents.models.model_files`; `Agent.warning` is set if it has
    no chat template.

    Raises:
        ConfigError: there is no such agent, or a setting is wrong.
    """
    settings = as_table(settings, "settings")
    _refuse_unknown(settings)
    if callable(name):
        return _of_code(code_agent(name), settings)
    if not isinstance(name, str):
        raise ConfigError(f"Expected the name of an agent or of a folder, a function or a class, got {name!r:.100}")
    kind, _, model = name.partition(":")
    if is_scripted(name):
        _refuse_agent_settings(name, settings, "a script")
        sampling = _sampling({"method": "scripted", "slots": 1, "scripted": {"agent": name}}, settings, name)
        return Agent(name=name, interface=SCRIPT, sampling=sampling)
    if kind == "openai":
        return _served(name, model, settings or {})
    if is_code(name) and not name.startswith(HUB):
        return _of_code(code_agent(name), settings)
    folder = _folder_of(name)
    stored = {} if folder is None else read_json(folder / "trainer.json")
    if folder is None or "config" not in stored:
        return _pretrained(name, name if folder is None else str(folder), settings or {})
    return _trained(name, folder, stored, settings or {})


def _of_code(code: CodeAgent, settings: Mapping[str, Any]) -> Agent:  # Any: tables
    """Return an agent that is Python code; by default a function plays one episode at a time."""
    _refuse_agent_settings(code.name, settings, "Python code")
    slots = _CODE_SLOTS if code.is_async or isinstance(code.code, type) else 1
    sampling = _sampling({"method": "code", "slots": slots, "code": {"agent": code.name}}, settings, code.name)
    return Agent(name=code.name, interface=SCRIPT, sampling=sampling, code=code)


def _refuse_agent_settings(name: str, settings: Mapping[str, Any], kind: str) -> None:  # Any: tables
    if set_in_vain := sorted(settings.get("agent", {})):
        raise ConfigError(f"{name!r} is {kind}: it has no setting agent.{set_in_vain[0]}; leave it out")


def _folder_of(name: str) -> Path | None:
    """Return the folder of an agent's weights; None: the name may be a model on a hub.

    Raises:
        ConfigError: the name cannot be either.
    """
    try:
        folder = Path(name).expanduser()
        folder.exists()
    except (OSError, RuntimeError) as error:  # the name is too long, or has the home of an unknown user
        raise ConfigError(f"{name!r:.100} cannot be the name of a folder or of a model: {error!s:.200}") from None
    checkpoints = sorted((folder / "checkpoints").glob("update-*"))
    if ((folder / "run.sqlite").is_file() or (folder / "checkpoints").is_dir()) and not checkpoints:
        raise ConfigError(f"The run at {name!r} has no checkpoint yet")
    if checkpoints:
        return checkpoints[-1]
    if folder.exists():
        return folder
    _refuse_missing(name)
    return None


def stored_state(name: str) -> dict[str, Any]:  # Any: JSON
    """Return the trainer's state beside an agent's weights; {}: not a checkpoint of Cairn.

    Raises:
        ConfigError: there is no such agent, or its run has no checkpoint yet.
    """
    folder = _folder_of(name)
    return {} if folder is None else read_json(folder / "trainer.json")


def _trained(name: str, folder: Path, stored: Mapping[str, Any], settings: Mapping[str, Any]) -> Agent:  # Any: tables
    """Return a checkpoint of Cairn, with the prompts and sampling settings of its training."""
    if (folder / MANIFEST).is_file() and (fault := check_manifest(folder)):
        raise ConfigError(
            f"The checkpoint {str(folder)!r} is damaged: {fault}. Name an older checkpoint; or, if you changed it "
            f"yourself, delete its {MANIFEST}"
        )
    file, own = str(folder / "trainer.json"), settings.get("agent", {})
    tables = sampling_of(stored["config"].get("sampling", {}), settings.get("sampling", {}), name)
    sampling = _sampling(tables, None, file)
    config = build(AgentConfig, agent_of(stored["config"].get("agent", {}), own, name), file)
    check(config, sampling)
    if not own.get("context"):  # else the settings choose the prompts
        require_same_prompts(prompt_hashes(config), stored.get("prompts", {}), name)
    from cairn.agents.models.policy import load_pretrained  # imports torch

    policy = load_pretrained(str(folder), template=_own_template(settings))
    policy.version = int(stored.get("update", 0))
    made = _with_policy(name, config, sampling, policy, folder, settings)
    return replace(made, trained=TrainedTasks.from_checkpoint(stored))


def _pretrained(
    name: str, source: str, settings: Mapping[str, Any], served: Mapping[str, Any] | None = None
) -> Agent:  # Any: tables
    """Return a model that Cairn has not trained, with suitable defaults.

    Args:
        name: of the agent.
        source: folder or hub name of the model, or of the tokenizer if the model is on a server.
        settings: see `load_agent`.
        served: defaults of a model on a server; None: the model is loaded here.
    """
    template, folder = _own_template(settings), local_folder(source)
    setting = "agent" if served is None else "sampling.openai.tokenizer"
    files = read_files(folder or download_settings(source.removeprefix(HUB), setting))
    if template.text is not None:
        files = replace(files, has_template=True, shows_tools=can_call_tools(template.text))
    defaults = merge(nest(interface_defaults(files)), served or {})
    sampling = _sampling(defaults["sampling"], settings, name)
    config = build(AgentConfig, merge(defaults.get("agent", {}), settings.get("agent", {})), name)
    check(config, sampling)
    if config.context.method == "chat" and not files.has_template:
        raise missing_template(source)
    from cairn.agents.models.policy import load_pretrained, load_remote  # imports torch

    policy = (load_pretrained if served is None else load_remote)(source, template=template)
    made = _with_policy(name, config, sampling, policy, folder if served is None else None, settings)
    if files.has_template:
        return made
    warnings.warn(warning := plain_text_warning(source), CairnWarning, stacklevel=3)
    return replace(made, warning=warning)


def _with_policy(
    name: str,
    config: AgentConfig,
    sampling: SamplingConfig,
    policy: Policy | None,
    folder: Path | None,
    settings: Mapping[str, Any],
) -> Agent:  # Any: tables
    """Return an agent; a chat template that `settings` name counts as one of its prompts."""
    used = "" if policy is None or _own_template(settings) == OWN_TEMPLATE else policy.encoder.tokenizer.chat_template
    return Agent(
        name=name,
        interface=policy_interface(config, policy),
        sampling=sampling,
        policy=policy,
        settings=config.model_dump(mode="json"),
        place=folder,
        prompts=prompt_hashes(config) | (hashes_of({"chat_template": used}) if used else {}),
    )


def _own_template(settings: Mapping[str, Any]) -> TemplateChoice:  # Any: tables
    """Return the chat template in the settings."""
    table = settings.get("model", {})
    name, values = table.get("chat_template"), as_table(table.get("chat_template_values"), "model.chat_template_values")
    return TemplateChoice(text=None if name is None else load_template(str(name)), values=values)


def _refuse_unknown(settings: Mapping[str, Any]) -> None:  # Any: tables
    for name, table in settings.items():
        if name not in ("agent", "sampling", "model"):
            example = "sampling.max_reply_tokens=64"
            raise ConfigError(f"agent: unknown key {name!r}; expected agent.KEY or sampling.KEY, such as {example}")
        as_table(table, name)
    if odd := sorted(set(settings.get("model", {})) - {"chat_template", "chat_template_values"}):
        raise ConfigError(
            f"agent: unknown key 'model.{odd[0]}'; the settings of a model here are chat_template and "
            "chat_template_values"
        )


def _refuse_missing(name: str) -> None:
    """Reject a name that cannot be a model on a hub, before the hub is queried.

    Raises:
        UnknownNameError: the name has no "/", like the names of scripts.
        ConfigError: the name is a path.
    """
    if name.startswith(HUB):
        return
    if name.startswith(("runs/", "evals/", ".", "/", "~")) or name.count("/") > 1:
        raise ConfigError(f"There is no folder {name!r}: expected a run, a checkpoint or a model; cairn eval --help")
    if "/" not in name:
        hint = f"cairn eval --help. There is no such folder either; a model on a hub is {HUB}{name}"
        raise UnknownNameError("agent", name.partition(":")[0], KINDS, hint)


def check(agent: AgentConfig, sampling: SamplingConfig, *, trains: bool = False) -> None:
    """Check that context and back end are compatible.

    Raises:
        ConfigError: the back end cannot read the prompts, cannot constrain replies, or returns no ids to train on.
    """
    settings = sampling.config(BACKENDS, "sampling")
    if not isinstance(settings, BackendConfig) or settings.reads == "turn_context":
        return
    context = agent.context.method
    plugin: ContextPlugin[Config] = CONTEXTS.load(context)
    made = plugin.makes
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


def _served(name: str, model: str, settings: Mapping[str, Any]) -> Agent:  # Any: tables
    """Return a model behind a server."""
    sent = {"method": "openai", "slots": 32, "max_reply_tokens": REPLY_TOKENS, "openai": {"model": model or None}}
    sampling = _sampling(sent, settings, name)
    served = sampling.config(BACKENDS, "sampling")
    method = "messages" if getattr(served, "reads", "ids") == "messages" else "chat"
    shown = {"context": {"method": method}, "constrain": False}
    config = build(AgentConfig, merge(shown, settings.get("agent", {})), name)
    check(config, sampling)
    if method == "chat":
        return _pretrained(name, served.tokenizer or model, settings, {"sampling": sent, "agent": {"constrain": False}})
    if settings.get("model"):
        raise ConfigError(f"{name!r}: the server applies the chat template; leave out model.chat_template")
    return _with_policy(name, config, sampling, None, None, settings)


def require_template(config: AgentConfig, policy: Policy) -> None:
    """Reject the context 'chat' with a tokenizer that has no chat template.

    Raises:
        ConfigError: the tokenizer has none.
    """
    tokenizer = policy.encoder.tokenizer
    if config.context.method == "chat" and not tokenizer.chat_template:
        raise missing_template(str(tokenizer.name_or_path))


def policy_interface(config: AgentConfig, policy: Policy | None) -> PolicyInterface:
    """Return the interface of a policy; None: a model that replies in text."""
    return PolicyInterface(
        new_context=contexts(config, policy),
        decode=policy.encoder.decode if policy is not None else lambda _: "",
        constrain=config.constrain,
        invalid_limit=config.invalid_limit,
    )


def contexts(config: AgentConfig, policy: Policy | None) -> Callable[[], Context]:
    """Return a factory of contexts; files in the settings are read once, now."""
    plugin: ContextPlugin[Config] = CONTEXTS.load(config.context.method)
    settings, encoder = _context_settings(config), policy.encoder if policy is not None else None
    return lambda: plugin.make(settings, encoder)


def prompt_hashes(config: AgentConfig) -> dict[str, str]:
    """Return the SHA-256 of each fixed prompt text, by setting."""
    settings = _context_settings(config)
    return hashes_of(settings.prompts()) if isinstance(settings, ConversationConfig) else {}


def new_backend(sampling: SamplingConfig, policy: Policy | CodeAgent | None) -> Backend:
    """Return the back end that the settings choose."""
    backend: Backend = sampling.make(BACKENDS, "sampling", policy, sampling)
    return backend


def require_same_prompts(now: Mapping[str, str], trained: Mapping[str, str], name: str) -> None:
    """Check that a checkpoint gets the prompts of its training; both are hashes by setting.

    Raises:
        ConfigError: a prompt has changed.
    """
    if changed := [key for key, digest in trained.items() if now.get(key) != digest]:
        raise ConfigError(
            f"{name!r} was trained with another {changed[0]} than its configuration leads to now: a prompt's file was "
            "changed. Put the old text back; or, to evaluate, say which one is meant by --agent-set agent.context..."
        )


def _context_settings(config: AgentConfig) -> Config:
    settings: Config = config.context.config(CONTEXTS, "agent.context")
    return settings


def _sampling(stored: Mapping[str, Any], over: Mapping[str, Any] | None, where: str) -> SamplingConfig:  # Any: tables
    sampling = build(SamplingConfig, merge(stored, (over or {}).get("sampling", {})), where)
    sampling.check(BACKENDS, "sampling")
    return sampling
