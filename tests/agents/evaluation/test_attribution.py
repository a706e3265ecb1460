"""Values of the parts of an agent: they add up, and a part without effect has the value 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cairn.agents.evaluation.attribution import attribute
from cairn.agents.evaluation.panel import make_panel
from cairn.core.errors import ConfigError
from tests.agents.evaluation.test_panel import part

PANEL = make_panel("doors", "", [part(tasks={f"amber-{n}": "" for n in range(6)})])
PLANNER = {"sampling": {"scripted": {"agent": "oracle"}}}
IDLE = {"sampling": {"max_context": 512}}


def test_the_only_effective_part_gets_the_whole_value_and_an_idle_part_gets_0(tmp_path: Path) -> None:
    heard: list[tuple[str, ...]] = []
    found = attribute(
        "constant:wait",
        PANEL,
        {"planner": PLANNER, "memory": IDLE},
        root=tmp_path,
        on_set=lambda names: heard.append(tuple(names)),
    )
    assert heard == [(), ("memory",), ("planner",), ("memory", "planner")]
    assert {name: each.mean for name, each in found.parts.items()} == {"planner": 1.0, "memory": 0.0}
    assert (found.none.mean, found.all.mean) == (0.0, 1.0)
    assert found.sets == {"": 0.0, "memory": 0.0, "planner": 1.0, "memory + planner": 1.0}


def test_values_add_up_to_the_difference_between_all_parts_and_none(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"chance": {"sampling": {"scripted": {"agent": "random"}}}, "other": IDLE}
    found = attribute("constant:wait", PANEL, parts, root=tmp_path)
    assert sum(each.mean for each in found.parts.values()) == pytest.approx(found.all.mean - found.none.mean)


@pytest.mark.parametrize(
    ("parts", "reported"),
    [
        ({}, "Expected 1 to 6 parts"),
        ({str(n): IDLE for n in range(7)}, "Expected 1 to 6 parts"),
        ({"a": IDLE, "b": {"sampling": {"max_context": 1024}}}, "both set sampling.max_context"),
        ({"a": IDLE, "z": {"sampling": {"no_such": 1}}}, "no_such"),
    ],
)
def test_invalid_parts_are_rejected_before_any_episode(parts: dict[str, Any], reported: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=reported):
        attribute("random", PANEL, parts, root=tmp_path)
    assert list(tmp_path.iterdir()) == []
