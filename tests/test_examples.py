"""The examples that README and docs name: environments that keep their promises, and settings that load."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

import cairn
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from tests.sampling import sampled_params

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ("assistant", "lake", "parcels", "quiz")


@pytest.mark.parametrize(("example", "name"), sampled_params(product(NAMES, PROPERTIES), parts=8))
def test_the_properties_hold(example: str, name: str) -> None:
    report = check_property(name, Subject(f"examples.{example}:{example}"))
    assert report.holds, report.detail


@pytest.mark.parametrize(("example", "oracle"), [("assistant", "oracle"), ("parcels", "oracle"), ("quiz", "reference")])
def test_the_settings_load(example: str, oracle: str) -> None:
    cairn.register(example, getattr(import_module(f"examples.{example}"), example))
    config = cairn.load_run_config(EXAMPLES / "small.toml", {"env.id": example, "imitation.oracle": oracle})
    assert config.agent.context.settings["tools"] is True
