"""Documentation and examples import public modules only, and each name of a public module exists."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import ROOT

HOMES = ("cairn.env", "cairn.credit", "cairn.losses", "cairn.plugins")
PUBLIC = ("cairn", *HOMES, "cairn.integrations.trl")
EVALUATION = "cairn.agents.evaluation"  # the sanity checks, which only docs/evaluation.md uses
BLOCK = re.compile(r"^```python.*?\n(.*?)^```", re.DOTALL | re.MULTILINE)
TEMPLATES = sorted((ROOT / "cli" / "templates").glob("*.py.txt"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def imported_modules(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def private(source: str) -> list[str]:
    found = [name for name in imported_modules(source) if name.split(".")[0] == "cairn"]
    return [name for name in found if name not in PUBLIC and not name.startswith(EVALUATION)]


def test_a_private_import_is_found() -> None:
    assert private("import cairn\nfrom cairn.credit import Credit\nfrom cairn.trainer.credit.base import Credit") == [
        "cairn.trainer.credit.base"
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_import_public_modules_only(page: Path) -> None:
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        assert not private(block)


@pytest.mark.parametrize("file", [*sorted((ROOT / "examples").glob("*.py")), *TEMPLATES], ids=lambda file: file.name)
def test_examples_and_templates_import_public_modules_only(file: Path) -> None:
    assert not private(re.sub(r"\$\{?(\w+)\}?", r"\1", file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("home", HOMES)
def test_every_name_of_a_home_exists_and_is_listed(home: str) -> None:
    module = importlib.import_module(home)
    assert module.__doc__
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name))
    imported = {name for name, value in vars(module).items() if not name.startswith("_") and name != "annotations"}
    assert imported == set(module.__all__)
