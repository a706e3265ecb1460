"""The examples that README and docs name: environments that keep their promises, and settings that load."""

from __future__ import annotations

import pytest

import cairn
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from examples.orders import SETTINGS, Orders


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_properties_hold(name: str) -> None:
    report = check_property(name, Subject("examples.orders:Orders"))
    assert report.holds, report.detail


def test_the_settings_of_the_tool_agent_load() -> None:
    cairn.register("orders", Orders)
    config = cairn.load_run_config(SETTINGS)
    assert config.agent.context.settings["tools"] is True


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_small_model_learns_to_call_tools(seed: int) -> None:
    cairn.register("orders", Orders)
    run = cairn.train(SETTINGS, {"seed": seed})
    assert run.reports[0].success.share < 0.2
    assert run.final.success.share > 0.8
