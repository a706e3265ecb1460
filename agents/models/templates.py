"""Chat templates as text: shipped ones by name, others by path.

`agents.models.chat` renders them.
"""

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

_OURS = "{#- model.chat_template_values -#}\n"  # end of each line that `TemplateChoice` writes above a template
_SET = re.compile(rf"\A(?:[^\n]*{re.escape(_OURS)})+")

Value = bool | int | str


@dataclass(frozen=True, kw_only=True)
class TemplateChoice:
    """The chat template that a tokenizer gets."""

    text: str | None = None  # None: the tokenizer's own
    values: Mapping[str, Value] = field(default_factory=dict)  # of variables of the template

    def __post_init__(self) -> None:
        """Check the names and types of variables."""
        if odd := [name for name in self.values if not name.isidentifier()]:
            raise ConfigError(f"model.chat_template_values: {odd[0]!r:.80} cannot be the name of a variable")
        if wrong := [value for value in self.values.values() if not isinstance(value, Value)]:
            raise ConfigError(f"model.chat_template_values: expected texts, integers or booleans, got {wrong[0]!r:.80}")

    def applied(self, own: str | None) -> str | None:
        """Return the template for a tokenizer whose own template is `own`.

        The values are set above it and replace those that it was saved with; so they are saved and loaded with it.

        Raises:
            ConfigError: values are set, but there is no template or it does not use one of them.
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
    """Return the template that ships under a name, or the content of a .jinja file.

    Raises:
        UnknownNameError: there is neither such a name nor such a file.
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
    """Return the call format's file for models with this template; None: unknown family.

    `agents.models.call_formats` loads it. Of the formats whose marks are all in the template, the one with the most
    marks is chosen.
    """
    found = [file for file in call_format_files() if all(mark in template for mark in _marks(file))]
    return max(found, key=lambda file: len(_marks(file)), default=None)


def call_format_files() -> list[Path]:
    """Return the files of all call formats."""
    return sorted((_folder() / "calls").glob("*.toml"))


@cache
def _marks(file: Path) -> tuple[str, ...]:
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))["marks"])


def marks_in(template: str) -> list[str]:
    """Return the likely special tokens in a template, such as <|im_end|>, </s> or [/INST]."""
    return sorted(set(re.findall(r"</?\|?\w+\|?>|\[/?[A-Z]+(?:_[A-Z]+)*\]", template)))


def suitable_templates(template: str) -> list[str]:
    """Return the names of shipped templates of the same family as `template`; else all names."""
    shipped = {name: file.read_text(encoding="utf-8") for name, file in shipped_templates().items()}
    mark = next((mark for mark in _FAMILIES if mark in template), "")
    return [name for name, text in shipped.items() if mark in text]


def title(template: str, owner: str) -> str:
    """Return the name of a template in messages; `owner` is its tokenizer."""
    for name, file in shipped_templates().items():
        if file.read_text(encoding="utf-8") == _SET.sub("", template):
            return f"The chat template {name!r}"
    return f"The chat template of the tokenizer {owner!r} ({template[:60]!r}...)"


def _folder() -> Path:
    return Path(str(files("cairn.configs"))) / "templates"
