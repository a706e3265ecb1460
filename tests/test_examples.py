"""The examples that README and docs name: environments that keep their promises, and settings that load."""

from __future__ import annotations

import pytest

import cairn
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from examples.orders import SETTINGS, orders
from tests.sampling import sampled_params


@pytest.mark.parametrize("name", sampled_params(PROPERTIES, parts=4))
def test_the_properties_hold(name: str) -> None:
    report = check_property(name, Subject("examples.orders:orders"))
    assert report.holds, report.detail


def test_the_settings_of_the_tool_agent_load() -> None:
    cairn.register("orders", orders)
    config = cairn.load_run_config(SETTINGS)
    assert config.agent.context.settings["tools"] is True
