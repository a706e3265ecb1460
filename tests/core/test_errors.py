"""Errors say what to do."""

from __future__ import annotations

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
    assert "pip install 'cairn-rl[gui]'" in str(errors.MissingExtraError("The browser", "gui"))


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (errors.EnvironmentFailure, "environment"),
        (errors.SandboxFailure, "sandbox"),
        (errors.ModelFailure, "model"),
        (errors.RewardFailure, "reward"),
    ],
)
def test_a_failure_knows_its_cause(kind: type[errors.EpisodeFailure], cause: str) -> None:
    assert kind("x").cause == cause
