"""Prompts from files: system messages, instructions of reply forms, and summary requests.

Shipped prompts are in `configs/prompts`: `systems/NAME.txt`, `forms/NAME.txt`, `summaries/NAME.txt`. A setting is one
of these names or the path of a text file. Results depend on the text, not on the name, so the settings of agents are
recorded together with a hash of each text (`hashes_of`).
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
    """Return the prompt that ships under a name, or the text of a file, stripped.

    Raises:
        UnknownNameError: there is neither such a name nor such a file.
        ConfigError: the file is not UTF-8 text, or is too long for a prompt.
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
