"""Environments may keep one tuple of schemas: callers receive copies."""

from __future__ import annotations

from typing import Any

from cairn.core.records import Schema, function_schema
from cairn.envs.checker import check_property
from cairn.envs.properties.subject import Subject
from examples.doors import Doors

SCHEMAS = (function_schema("open", "Open a door.", {"door": {"type": "string"}}, ["door"]),)


class Handles(Doors):
    """Doors with a tool that never changes."""

    def tools(self) -> tuple[Schema, ...]:
        return SCHEMAS


def test_a_caller_that_changes_a_tool_changes_no_other() -> None:
    env = Handles()
    _, info = env.reset(seed=0)
    changed: dict[str, Any] = info["tools"][0]["function"]  # Any: JSON
    changed["name"] = "close"
    assert env.step("take key")[-1]["tools"][0]["function"]["name"] == "open"
    assert SCHEMAS[0]["function"]["name"] == "open"


def test_gymnasium_accepts_tools_that_never_change() -> None:
    report = check_property("gymnasium", Subject("tests.core.test_tools:Handles"))
    assert report.holds, report.detail
