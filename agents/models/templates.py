"""Chat templates as text: those that ship with Cairn by name, others by path. `agents.models.chat` renders them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from cairn.core.errors import UnknownNameError

_FAMILIES = ("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "[INST]")  # marks that open a message


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
    """Return what looks like a special token in a template: words in angle brackets, such as <|im_end|> or </s>."""
    return sorted(set(re.findall(r"</?\|?\w+\|?>", template)))


def suitable_templates(template: str) -> list[str]:
    """Return the names of shipped templates for models of the family whose marks a template writes; else all."""
    shipped = {name: file.read_text(encoding="utf-8") for name, file in shipped_templates().items()}
    mark = next((mark for mark in _FAMILIES if mark in template), "")
    return [name for name, text in shipped.items() if mark in text]


def title(template: str, owner: str) -> str:
    """Return how messages call a template that the tokenizer `owner` has."""
    for name, file in shipped_templates().items():
        if file.read_text(encoding="utf-8") == template:
            return f"The chat template {name!r}"
    return f"The chat template of the tokenizer {owner!r} ({template[:60]!r}...)"


def _folder() -> Path:
    return Path(str(files("cairn.configs"))) / "templates"
