"""Chat templates as text: those that ship with Cairn by name, others by path. `agents.models.chat` renders them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from cairn.core.errors import ConfigError, UnknownNameError

_FAMILIES = ("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "[INST]")  # marks that open a message

_OURS = "{#- model.chat_template_values -#}\n"  # ends each line that `TemplateChoice` writes above a template
_SET = re.compile(rf"\A(?:[^\n]*{re.escape(_OURS)})+")

Value = bool | int | str


@dataclass(frozen=True, kw_only=True)
class TemplateChoice:
    """Which chat template a tokenizer gets."""

    text: str | None = None  # None: its own
    values: Mapping[str, Value] = field(default_factory=dict)  # of variables of the template

    def __post_init__(self) -> None:
        """Check the names of variables."""
        if odd := [name for name in self.values if not name.isidentifier()]:
            raise ConfigError(f"model.chat_template_values: {odd[0]!r:.80} cannot be the name of a variable")
        if wrong := [value for value in self.values.values() if not isinstance(value, Value)]:
            raise ConfigError(f"model.chat_template_values: expected texts, integers or booleans, got {wrong[0]!r:.80}")

    def applied(self, own: str | None) -> str | None:
        """Return the template of a tokenizer whose own is `own`.

        Values are set above it, in place of those that it was saved with; so they are saved and loaded with it.

        Raises:
            ConfigError: there is none, or it uses no such variable.
        """
        text = own if self.text is None else self.text
        if not self.values:
            return text
        if text is None:
            raise ConfigError("model.chat_template_values: there is no chat template; set model.chat_template")
        text = _SET.sub("", text)
        if unused := [name for name in self.values if not re.search(rf"\b{name}\b", text)]:
            raise ConfigError(f"model.chat_template_values: the chat template has no variable {unused[0]!r}")
        written = {name: json.dumps(value, ensure_ascii=False) for name, value in sorted(self.values.items())}
        return "".join(f"{{%- set {name} = {value} -%}}{_OURS}" for name, value in written.items()) + text


OWN_TEMPLATE = TemplateChoice()


def load_template(name: str) -> str:
    """Return the template of a name that ships with Cairn, or of a path to a .jinja file.

    Raises:
        UnknownNameError: neither.
    """
    shipped = shipped_templates()
    file = shipped.get(name, Path(name).expanduser())
    if not file.is_file():
        raise UnknownNameError("chat template", name, shipped, f"ls {_folder()}")
    return file.read_text(encoding="utf-8")


def shipped_templates() -> dict[str, Path]:
    """Map the names of the templates that ship with Cairn to their files."""
    return {file.stem: file for file in sorted(_folder().glob("*.jinja"))}


def call_format_of(template: str) -> Path | None:
    """Return the file of the format in which models with this template write calls; None: it is of no known family.

    `agents.models.call_formats` reads it. A format has marks; of those with all marks in the template, the one with the
    most is meant.
    """
    found = [file for file in call_format_files() if all(mark in template for mark in _marks(file))]
    return max(found, key=lambda file: len(_marks(file)), default=None)


def call_format_files() -> list[Path]:
    """Return the files of all formats of calls."""
    return sorted((_folder() / "calls").glob("*.toml"))


@cache
def _marks(file: Path) -> tuple[str, ...]:
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))["marks"])


def marks_in(template: str) -> list[str]:
    """Return what looks like a special token in a template, such as <|im_end|>, </s> or [/INST]."""
    return sorted(set(re.findall(r"</?\|?\w+\|?>|\[/?[A-Z]+(?:_[A-Z]+)*\]", template)))


def suitable_templates(template: str) -> list[str]:
    """Return the names of shipped templates for models of the family whose marks a template writes; else all."""
    shipped = {name: file.read_text(encoding="utf-8") for name, file in shipped_templates().items()}
    mark = next((mark for mark in _FAMILIES if mark in template), "")
    return [name for name, text in shipped.items() if mark in text]


def title(template: str, owner: str) -> str:
    """Return how messages call a template that the tokenizer `owner` has."""
    for name, file in shipped_templates().items():
        if file.read_text(encoding="utf-8") == _SET.sub("", template):
            return f"The chat template {name!r}"
    return f"The chat template of the tokenizer {owner!r} ({template[:60]!r}...)"


def _folder() -> Path:
    return Path(str(files("cairn.configs"))) / "templates"
