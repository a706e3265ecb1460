"""A manifest of a folder's files: SHA-256 hashes, so that a torn or changed folder is noticed when it is read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

FILE = "manifest.json"


def write_manifest(folder: Path) -> None:
    """Write the hashes of all files of the folder, without those of its sub-folders."""
    (folder / FILE).write_text(json.dumps(_hashes(folder)))


def check_manifest(folder: Path) -> str:
    """Return the fault of a folder that has a manifest; "": its files are those that the manifest lists.

    Raises:
        OSError: there is no manifest, or a file cannot be read.
    """
    try:
        expected = json.loads((folder / FILE).read_text())
    except ValueError:
        return f"its {FILE} is not JSON"
    found = _hashes(folder)
    if expected == found:
        return ""
    names = set(expected) if isinstance(expected, dict) else set()
    lost, extra = sorted(names - set(found)), sorted(set(found) - names)
    if lost or extra:
        return f"its files do not match its manifest: missing {lost[:3]}, unexpected {extra[:3]}"
    changed = [name for name in sorted(found) if expected[name] != found[name]]
    return f"its files do not match its manifest: {', '.join(changed[:3])} changed"


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != FILE)
    return {path.name: file_hash(path) for path in files}
