"""Chat templates as text: those that ship with Cairn by name, others by path. `agents.models.chat` renders them."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from cairn.core.errors import UnknownNameError


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


def marks_in(template: str) -> list[str]:
    """Return what looks like a special token in a template: words in angle brackets, such as <|im_end|> or <bos>."""
    return sorted(set(re.findall(r"<\|?\w+\|?>", template)))


def title(template: str, owner: str) -> str:
    """Return how messages call a template that the tokenizer `owner` has."""
    for name, file in shipped_templates().items():
        if file.read_text(encoding="utf-8") == template:
            return f"The chat template {name!r}"
    return f"The chat template of the tokenizer {owner!r} ({template[:60]!r}...)"


def _folder() -> Path:
    return Path(str(files("cairn.configs"))) / "templates"
