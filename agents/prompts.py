"""Prompts that are files: system messages, what is told of reply forms, and what asks for a summary.

They stand in `configs/prompts`: `systems/NAME.txt`, `forms/NAME.txt`, `summaries/NAME.txt`. A setting names one of
these, or is the path of a text file. What a result depends on is the text and not the name, so the settings of agents
are recorded together with a hash of each text (`hashes_of`).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Literal

from cairn.core.errors import ConfigError, UnknownNameError

Kind = Literal["systems", "forms", "summaries"]

_MOST_BYTES = 1 << 20


def load_prompt(kind: Kind, name: str) -> str:
    """Return the prompt of a name that ships with Cairn, or of a path to a .txt file, without blanks around it.

    Raises:
        UnknownNameError: neither.
        ConfigError: the file is not text in UTF-8, or is too long for a prompt.
    """
    shipped = shipped_prompts(kind)
    file = shipped.get(name, Path(name).expanduser())
    if not file.is_file():
        raise UnknownNameError(f"prompt among {kind}", name, shipped, f"ls {_folder(kind)}")
    if file.stat().st_size > _MOST_BYTES:
        raise ConfigError(f"The prompt {str(file)!r} has more than {_MOST_BYTES} bytes: is it one?")
    try:
        return file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"The prompt {str(file)!r} is not text in UTF-8: {error}") from error


def shipped_prompts(kind: Kind) -> dict[str, Path]:
    """Map the names of the prompts that ship with Cairn to their files."""
    return {file.stem: file for file in sorted(_folder(kind).glob("*.txt"))}


def hashes_of(prompts: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 of each text, as 64 hex digits."""
    return {name: sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for name, text in prompts.items()}


def _folder(kind: Kind) -> Path:
    return Path(str(files("cairn.configs"))) / "prompts" / kind
