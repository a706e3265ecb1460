"""The page on adding a credit method works as written, and the page of all methods agrees with their files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.cli._pages import algorithms
from cairn.core.plugins import CREDITS
from tests.safety import without_pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add_credit.md").read_text(encoding="utf-8")


@pytest.mark.rotating(4)
def test_the_page_on_adding_a_credit_method_works_as_written(tmp_path: Path) -> None:
    """In a copy of the folders: the file, its test, and the properties, which find it."""
    for folder in ("core", "trainer", "tests", "src"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    method, test = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "trainer/credit/methods/best_of.py").write_text(method)
    (tmp_path / "tests/trainer/credit/methods/test_best_of.py").write_text(test)
    command = re.search(r"^python -m pytest (.*best_of)$", PAGE, re.MULTILINE)
    assert command is not None
    in_the_copy = (
        "import cairn.trainer.credit.methods as m, sys; m.__path__.insert(0, 'trainer/credit/methods'); import pytest; "
    )
    run = f"{in_the_copy}sys.exit(pytest.main(['-vv', '-p', 'no:cacheprovider', *sys.argv[1:]]))"
    nested = [sys.executable, "-c", run, *command.group(1).split()]
    done = subprocess.run(nested, cwd=tmp_path, env=without_pytest(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") >= 10  # two of its own, the others are properties


def test_the_page_names_the_files_of_the_method_and_its_test() -> None:
    assert "`trainer/credit/methods/best_of.py`" in PAGE
    assert "`tests/trainer/credit/methods/test_best_of.py`" in PAGE


@pytest.fixture
def results(tmp_path: Path) -> Path:
    lines = [
        {"method": method, "world": world, "level": 0.4, "size": 8, "cosine": [x, x - 0.1, x + 0.1],
         "correlation": [0.5, 0.4, 0.6]}
        for world in ("fetch", "shop") for method, x in (("gigpo", 0.3), ("grpo", 0.25), ("(exact)", 0.9))
    ]  # fmt: skip
    path = tmp_path / "creditbench.json"
    path.write_text(json.dumps({"facts": {}, "results": lines}), encoding="utf-8")
    return path


def test_every_method_has_a_description_and_its_measurements(results: Path) -> None:
    found = algorithms.page(results)
    assert [line[3:] for line in found.splitlines() if line.startswith("## ")] == CREDITS.ids()
    gigpo = found.partition("## gigpo\n")[2].partition("\n## ")[0]
    assert "```text\ne_{i,t} = sum_u r_{i,u}" in gigpo
    assert "Averaging unit of the episode term" in gigpo
    assert "| CreditBench | mean rank of 2 | fetch | shop |" in gigpo
    assert "| gradient cosine | 1.0 | 0.30 [0.20, 0.40] | 0.30 [0.20, 0.40] |" in gigpo
    assert "| correlation with the exact advantages | 1.5 | 0.50 [0.40, 0.60]" in gigpo
    assert "| CreditBench |" not in found.partition("## gae\n")[2].partition("\n## ")[0]


def test_blocks_of_the_page_are_closed(results: Path) -> None:
    fences = re.findall(r"^```(\w*)$", algorithms.page(results), re.MULTILINE)
    assert fences[::2] == [fence for fence in fences if fence]
    assert not any(fences[1::2])
