"""The glossary has each word that many public classes share, and none that the code does not know."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "envs", "agents", "trainer", "sandboxes", "viewer", "cli")
MANY = 5  # public classes whose names have a word
STANDARD = {  # words of Python, of computing, and of one environment's world
    "call", "chat", "code", "config", "env", "error", "fault", "gui", "process", "remote", "row", "server", "shop",
    "unknown", "vllm",
}  # fmt: skip
_WORD = re.compile(r"[A-Z][a-z0-9]+|[A-Z]+(?![a-z])")


def listed() -> list[str]:
    rows = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    return [row.split("|")[1].strip() for row in rows if row.startswith("| ") and not row.startswith("| word")]


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]


def shared_words() -> dict[str, set[str]]:
    """Return the words of public classes' names, each with the names that have it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                for word in _WORD.findall(node.name):
                    found[word.lower()].add(node.name)
    return found


def test_words_of_many_public_classes_are_in_the_glossary() -> None:
    known = {word.replace(" ", "").replace("-", "") for word in listed()} | STANDARD
    known |= {part for word in listed() for part in re.split(r"[ -]", word)}
    missing = {word: sorted(names)[:3] for word, names in shared_words().items() if len(names) >= MANY}
    assert {word: names for word, names in missing.items() if word not in known} == {}


def test_the_glossary_is_sorted_and_has_each_word_once() -> None:
    assert listed() == sorted(set(listed()), key=str.lower)


def test_the_code_uses_every_word_of_the_glossary() -> None:
    text = " ".join(path.read_text().lower() for path in sources())
    words = set(re.findall(r"[a-z]+", text.replace("_", " ")))
    unknown = [word for word in listed() if not set(re.split(r"[ -]", word.lower())) <= words]
    assert unknown == []
