"""Plain English: counts constructions that make readers stop, and keeps each below a bar.

A bar is a number of places in 1,000 words of docstrings, comments, strings and Markdown. The whole repository and the
names of the tests stay below it, and each top-level folder below twice the bar; a single place is always allowed.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "agents", "benchmarks", "cli", "configs", "core", "docs", "envs", "examples", "integrations", "sandboxes", "tests",
    "trainer", "viewer",
)  # fmt: skip
TASKS = (  # texts of tasks, which agents read: another word would be another version of the environment
    "envs/code/projects", "envs/gui/tasks", "envs/office", "docs/envs/gui-tasks.md", "sandboxes/attacks/programs",
    "tests/envs/code/submissions",
)  # fmt: skip
NO_QUESTION = r"(?![^.!?:]{0,80}\?)"
VERBS = (
    "are|were|he|she|an|the|has|had|does|did|can|could|may|must|would|will|one|each|every|its|no|some|only|both|comes|"
    "came|goes|went|stands|stood|happens|happened|remains|follows|others?"
)
CONSTRUCTIONS = {  # name -> pattern, places in 1,000 words
    "free relative": (rf"\bwhat (?:is|was|it|they|a)\b{NO_QUESTION}", 0.3),
    "other free relative": (rf"\bwhat (?:{VERBS})\b{NO_QUESTION}", 0.3),
    "tells": (r"\b(?:told|tells|telling)\b", 0.1),
    "is no X": (r"(?<!there )\b(?:is|are) no (?!longer\b|more than\b|less\b)[a-z]+", 0.2),
    "whoever": (r"\b(?:whoever|whatever|wherever)\b", 0.2),
    "goes on": (r"\b(?:go|goes|going|went|gone) on\b", 0.05),
    "stands": (r"\b(?:stands?|stood|standing) (?:in|at|on|under|beside|there)\b", 0.02),
    "there is none": (r"\b(?:what there (?:is|was|are|were)|there (?:is|are|was|were) none)\b", 0.05),
    "anew": (r"\b(?:anew|under way|so many|of ours)\b", 0.05),
}
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, (pattern, _) in CONSTRUCTIONS.items()}
Text = tuple[str, str, str]  # folder ("" for the root), place, text


def texts_of(source: str, is_test: bool) -> Iterator[tuple[int, str, bool]]:
    """Yield the line, the text, and whether it is a test's name, for every text of a module."""
    tree = ast.parse(source)
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts = [value.value if isinstance(value, ast.Constant) else " _ " for value in node.values]
            yield node.lineno, "".join(map(str, texts)), False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value, False
        elif is_test and isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " "), True
    lines: list[str] = []  # of one comment
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] != last + 1:
                yield last, " ".join(lines), False
                lines = []
            last = token.start[0]
            lines.append(token.string.lstrip("# "))
    yield last, " ".join(lines), False


@cache
def all_texts() -> tuple[list[Text], list[Text]]:
    """Return the prose and the names of the tests."""
    prose: list[Text] = []
    names: list[Text] = []
    files = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))]
    for path in sorted(files):
        place = path.relative_to(ROOT).as_posix()
        folder = place.split("/")[0] if "/" in place else ""
        if place.startswith(TASKS):
            continue
        if path.suffix == ".md":
            prose.append((folder, place, path.read_text()))
        elif path.suffix == ".py":
            for line, text, is_name in texts_of(path.read_text(), folder == "tests"):
                (names if is_name else prose).append((folder, f"{place}:{line}", text))
    return prose, names


def above(texts: list[Text], factor: float) -> list[str]:
    """Return the constructions that have more places than `factor` times their bar allows, with some places."""
    words, places = 0, defaultdict[str, list[str]](list)
    for _, place, text in texts:
        folded = re.sub(r"\s+", " ", text)
        words += len(re.findall(r"[A-Za-z]+", folded))
        for name, pattern in PATTERNS.items():
            places[name] += [
                f"{place}: {folded[max(0, m.start() - 30) : m.end() + 30]}" for m in pattern.finditer(folded)
            ]
    return [
        f"{name}: {len(found)} places in {words} words, such as {found[:5]}"
        for name, found in places.items()
        if len(found) > max(1, factor * CONSTRUCTIONS[name][1] * words / 1000)
    ]


def test_the_whole_repository_is_below_each_bar() -> None:
    assert not above(all_texts()[0], 1)


def test_names_of_tests_are_below_each_bar() -> None:
    assert not above(all_texts()[1], 1)


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_each_folder_is_below_twice_each_bar(folder: str) -> None:
    assert not above([text for text in all_texts()[0] if text[0] == folder], 2)


def test_a_text_above_a_bar_is_found() -> None:
    source = '"""Whoever asks is told what it is."""\n# This goes\n# on.\nx = f"{1} is no number"\ny = "What is it?"\n'
    texts = [("", "a.py", text) for _, text, _ in texts_of(source, is_test=False)]
    found = [place.split(":")[0] for each in texts for place in above([each, each], 1)]
    assert sorted(found) == ["free relative", "goes on", "is no X", "tells", "whoever"]


def test_names_of_tests_are_found() -> None:
    source = "def test_what_is_shown() -> None: ...\ndef helper_what_is() -> None: ...\n"
    assert [text for _, text, is_name in texts_of(source, is_test=True) if is_name] == ["what is shown"]
