"""Reads a pretrained model's default settings from its files, without torch or transformers.

A model whose tokenizer has a chat template gets messages and unconstrained replies. A model without one gets plain
text, as `plain_text_warning` warns. `trainer.pretrained` adds the defaults of the learner.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn.agents.models.templates import call_format_of, shipped_templates
from cairn.core.errors import ConfigError

HUB = "hf:"  # prefix of a hub name, required if the name has no "/"
MAX_CONTEXT = 32_768  # tokens; long episodes fit, and the cache of one sequence stays small
REPLY_TOKENS = 1024  # of an unconstrained reply: a thought and an action

_HUB_TIMEOUT_S = 5.0
_SETTINGS_FILES = ("*.json", "*.jinja", "*.txt", "*.model")  # all files of a model except its weights


@dataclass(frozen=True, kw_only=True)
class PretrainedFiles:
    """Facts from the files of a pretrained model."""

    has_template: bool  # its tokenizer has a chat template
    shows_tools: bool  # the chat template shows tool schemas, and the call format is known
    max_positions: int | None  # longest sequence in tokens; None: not stated

    @property
    def max_context(self) -> int:
        """Default maximum length of an episode's sequence, in tokens."""
        return min(self.max_positions or MAX_CONTEXT, MAX_CONTEXT)


def read_files(folder: Path) -> PretrainedFiles:
    """Return the facts about the model or adapter in a folder."""
    settings = read_json(folder / "config.json")
    if base := read_json(folder / "adapter_config.json").get("base_model_name_or_path"):
        settings = settings or read_json(Path(str(base)).expanduser() / "config.json")
    positions = settings.get("max_position_embeddings")
    template, stored = _template_text(folder), read_json(folder / "tokenizer_config.json")
    return PretrainedFiles(
        has_template=bool(template),
        shows_tools=can_call_tools(template, has_format=bool(stored.get("response_template"))),
        max_positions=positions if isinstance(positions, int) and positions > 0 else None,
    )


def interface_defaults(files: PretrainedFiles, reply_tokens: int = REPLY_TOKENS) -> dict[str, Any]:  # Any: settings
    """Return the model's default prompt and reply settings, by dotted name.

    A reply takes at most a quarter of the context. Without a chat template the defaults of `AgentConfig` apply: plain
    text, and constrained replies, since such a model does not know where an action ends.
    """
    lengths = {
        "sampling.max_context": files.max_context,
        "sampling.max_reply_tokens": min(reply_tokens, files.max_context // 4),
    }
    tools = files.shows_tools
    shown = {"agent.context.method": "chat", "agent.context.chat.tools": tools, "agent.constrain": False}
    return {**shown, **lengths} if files.has_template else lengths


def can_call_tools(template: str, *, has_format: bool = False) -> bool:
    """Return whether a chat template shows tool schemas and the model's call format is known.

    `has_format`: the tokenizer has its own response template.
    """
    return re.search(r"\btools\b", template) is not None and (has_format or call_format_of(template) is not None)


def _template_text(folder: Path) -> str:
    """Return the text of all chat templates of the tokenizer in a folder; "" if it has none."""
    files = [folder / "chat_template.jinja", *sorted((folder / "additional_chat_templates").glob("*.jinja"))]
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
    stored = read_json(folder / "tokenizer_config.json").get("chat_template")
    return "\n".join([*texts, *([json.dumps(stored)] if stored else [])])


def plain_text_warning(name: str) -> str:
    """Return the warning about a model that gets plain text because it has no chat template."""
    return (
        f"The tokenizer of {name!r} has no chat template: the model is shown plain text, not messages. If it is a chat "
        f"model, set model.chat_template to a file or to one of {', '.join(shipped_templates())}."
    )


def missing_template(name: str) -> ConfigError:
    """Return the error about the context 'chat' with a tokenizer that has no chat template."""
    return ConfigError(
        f"agent.context.method: 'chat' needs a chat template, and the tokenizer of {name!r} has none. Set "
        f"model.chat_template to a file or to one of {', '.join(shipped_templates())}; or choose the context "
        "'transcript', which shows plain text"
    )


def local_folder(path: str) -> Path | None:
    """Return the folder of a path; None: the path is a model's name on a hub."""
    if path.startswith(HUB):
        return None
    is_folder = path.startswith((".", "/", "~")) or Path(path).exists()
    return Path(path).expanduser().absolute() if is_folder else None


def stored_config(folder: Path) -> dict[str, Any]:  # Any: JSON
    """Return the training configuration of a Cairn checkpoint; {} for any other folder."""
    stored = read_json(folder / "trainer.json").get("config", {})
    return stored if isinstance(stored, dict) else {}


def download_settings(name: str, setting: str) -> Path:
    """Return a folder with all files of a hub model except its weights; download missing ones.

    Raises:
        ConfigError: the model is not in the cache, and the hub does not respond within seconds or does not have it.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(name, allow_patterns=list(_SETTINGS_FILES), etag_timeout=_HUB_TIMEOUT_S))
    except (OSError, HFValidationError) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"{setting}: cannot load {name!r}: there is no such folder, the local cache has no such model, and the hub "
            f"did not send it ({reason}). Check the name and the connection"
        ) from error


def read_json(file: Path) -> dict[str, Any]:  # Any: JSON
    """Return a file's JSON object; {} if it is missing or invalid.

    Loading the model reports an invalid file.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
