"""Errors name a remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.core import errors


def test_an_unknown_name_gives_the_nearest_and_the_command() -> None:
    error = errors.UnknownNameError("loss", "clpi", ["clip", "gspo"], "cairn plugins")
    assert str(error) == "Unknown loss 'clpi'. Did you mean 'clip'? List them with: cairn plugins"
    assert error.name == "clpi"


def test_an_unknown_name_without_a_near_one_gives_the_command() -> None:
    assert str(errors.UnknownNameError("loss", "zzz", [], "cairn plugins")).endswith(
        "'zzz'. List them with: cairn plugins"
    )


def test_a_missing_extra_names_its_command() -> None:
    error = errors.MissingExtraError("The browser", "gui")
    assert error.command == "pip install 'playwright>=1.50' 'pillow>=10'"
    assert str(error).endswith(f"Install them with: {error.command}")


def test_no_text_names_a_package_that_no_index_has() -> None:
    """Cairn is installed from a clone: its own name is not on a package index."""
    root = Path(__file__).parents[2]
    texts = [*root.glob("docs/**/*.md"), *root.glob("*.md"), *root.glob("examples/*"), root / "Makefile"]
    folders = ("agents", "benchmarks", "cli", "core", "envs", "sandboxes", "trainer", "viewer")
    texts += [file for folder in folders for file in (root / folder).rglob("*.py")]
    wrong = re.compile(r"pip install[^\n]*\n?[^\n]*\bcairn-rl\b")
    assert [str(file) for file in texts if file.is_file() and wrong.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (errors.EnvironmentFailure, "environment"),
        (errors.SandboxFailure, "sandbox"),
        (errors.ModelFailure, "model"),
        (errors.RewardFailure, "reward"),
    ],
)
def test_a_failure_has_its_cause(kind: type[errors.EpisodeFailure], cause: str) -> None:
    assert kind("x").cause == cause
