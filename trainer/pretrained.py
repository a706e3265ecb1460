"""Default settings of runs from a pretrained model.

The user's settings override them; they override the defaults of the code.

The defaults in the code suit Cairn's small, newly initialised models; at their learning rates a pretrained model
forgets its language. `docs/decisions.md` has the sources. `agents.models.model_files` determines the format in which
the model sees an episode. A checkpoint of Cairn keeps the settings with which it was trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.agents.models.model_files import (
    PretrainedFiles,
    can_call_tools,
    interface_defaults,
    local_folder,
    missing_template,
    plain_text_warning,
    read_files,
    stored_config,
)
from cairn.agents.models.templates import load_template
from cairn.agents.stored_settings import agent_of
from cairn.core.config import flatten, read_toml
from cairn.envs.registry import load

if TYPE_CHECKING:
    from cairn.trainer.config import RunConfig

Leaves = dict[str, Any]  # Any: settings, by dotted name

_DEFAULTS = Path(str(files("cairn.configs"))) / "defaults"
_OBSERVATION_TOKENS = 128  # of a turn, without the reply
_MIN_CONTEXT = 4096  # the default of `SamplingConfig`
_KEPT = ("agent", "learner.optimizer", "learner.reference", "sampling.max_context", "sampling.max_reply_tokens")


def pretrained_defaults(tables: Mapping[str, Any]) -> Leaves:  # Any: the user's settings, not yet checked
    """Return the defaults of a pretrained model for settings that the user has not given.

    The result is {} for a newly initialised model.

    Raises:
        UnknownNameError: the environment is unknown.
    """
    given = flatten(tables)
    if not isinstance(path := given.get("model.path"), str):
        return {}
    folder = local_folder(path)
    if folder is not None and (stored := stored_config(folder)):
        agent_of(stored.get("agent", {}), tables.get("agent", {}), path)  # rejects modules named by the checkpoint
        found = {**_shipped(given), **_stored(stored, given)}
    else:
        found = {**_shipped(given), **_interface(given, _facts(folder, given))}
    return {name: value for name, value in found.items() if name not in given}


def pretrained_notes(config: RunConfig) -> list[str]:
    """Return the warnings about a run from a pretrained model, for its plan and its log."""
    path, sampling = config.model.path, config.sampling
    folder = None if path is None else local_folder(path)
    if path is None or (folder is not None and stored_config(folder)):
        return []
    is_plain = folder is not None and config.model.chat_template is None and not read_files(folder).has_template
    notes = [f"warning: {plain_text_warning(path)}"] if is_plain and folder is not None and folder.is_dir() else []
    turns = config.env.config.get("turn_limit") or load(config.env.id).meta.turn_limit
    if _grows(config) and turns * sampling.max_reply_tokens > sampling.max_context:
        notes.append(
            f"warning: {turns} turns with replies of {sampling.max_reply_tokens} tokens are more than "
            f"sampling.max_context = {sampling.max_context}: an episode that reaches it ends there, as truncated. "
            "Raise it, lower sampling.max_reply_tokens, or set agent.context.chat.history"
        )
    return notes


def check_template(config: RunConfig) -> None:
    """Check that a local model's tokenizer has a chat template if the context is 'chat'.

    The template of a model on a hub is checked when the model is loaded.

    Raises:
        ConfigError: it has no chat template.
    """
    if config.agent.context.method != "chat" or config.model.chat_template is not None:
        return
    if config.model.path is None:
        raise missing_template(config.model.preset)
    folder = local_folder(config.model.path)
    if folder is not None and folder.is_dir() and not read_files(folder).has_template:
        raise missing_template(config.model.path)


def _shipped(given: Leaves) -> Leaves:
    is_lora = any(name.split(".")[:2] == ["model", "lora"] and value is not None for name, value in given.items())
    found = _table("pretrained") | (_table("adapter") if is_lora else {})
    kind = found["learner.reference.kind"]
    other = given.get("learner.reference.kind", kind) != kind  # has other settings
    return {name: value for name, value in found.items() if not (other and name.startswith("learner.reference."))}


def _table(name: str) -> Leaves:
    return flatten(read_toml(_DEFAULTS / f"{name}.toml"))


def _stored(stored: Mapping[str, Any], given: Leaves) -> Leaves:  # Any: JSON
    """Return a checkpoint's training settings; not those of the learner if adapters are new."""
    kept = {name: value for name, value in flatten(stored).items() if name.startswith(_KEPT) and value is not None}
    kind = kept.get("learner.reference.kind")
    other: tuple[str, ...] = ("learner.reference.",) if given.get("learner.reference.kind", kind) != kind else ()
    if any(name.startswith("model.lora") for name in given):
        other = ("learner.",)
    return {name: value for name, value in kept.items() if not name.startswith(other)}


def _facts(folder: Path | None, given: Leaves) -> PretrainedFiles:
    """Return the facts of the model's files.

    A model on a hub is assumed to have a chat template with tools and no length limit.
    """
    hub = PretrainedFiles(has_template=True, shows_tools=True, max_positions=None)
    facts = read_files(folder) if folder is not None else hub
    if (name := given.get("model.chat_template")) is None:
        return facts
    return replace(facts, has_template=True, shows_tools=can_call_tools(load_template(str(name))))


def _interface(given: Leaves, facts: PretrainedFiles) -> Leaves:
    """Return the settings of the model's interface, with a context for all turns if possible."""
    found = interface_defaults(facts, _table("pretrained")["sampling.max_reply_tokens"])
    reply = given.get("sampling.max_reply_tokens", found["sampling.max_reply_tokens"])
    turns = given.get("env.config.turn_limit") or load(str(given.get("env.id", "household"))).meta.turn_limit
    if isinstance(reply, int) and isinstance(turns, int):  # else the configuration's validation reports it
        wanted = max(_MIN_CONTEXT, turns * (reply + _OBSERVATION_TOKENS))
        found["sampling.max_context"] = min(wanted, found["sampling.max_context"])
    if given.get("agent.context.method", "chat") != "chat":
        found.pop("agent.context.chat.tools", None)
    return found


def _grows(config: RunConfig) -> bool:
    """Return whether a sequence keeps all turns of an episode, with unconstrained replies."""
    context = config.agent.context
    is_full = not {"history", "memory"} & context.settings.keys()
    return not config.agent.constrain and context.method in ("chat", "transcript") and is_full
