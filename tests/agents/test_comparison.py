"""Two agents on one panel; two panels are not compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.agents.comparison import compare
from cairn.agents.evaluation import evaluate
from cairn.agents.panel import make_panel
from cairn.core.errors import CairnError
from tests.agents.test_panel import part

TASKS = [f"{colour}-{number}" for colour in ("amber", "red", "green") for number in range(4)]
PANEL = make_panel("doors", "", [part(tasks=dict.fromkeys(TASKS, "")), part(family="quick", config={"turn_limit": 3})])


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Path]:
    def played(agent: str, temperature: float = 0.4) -> Path:
        return evaluate(agent, panel=PANEL, root=tmp_path, temperature=temperature).folder

    return played


def test_the_oracle_is_better_than_an_agent_that_waits(play: Callable[..., Path]) -> None:
    doors, quick, both = compare([play("constant:wait")], [play("oracle")])
    assert [each.family for each in (doors, quick, both)] == ["doors", "quick", "all"]
    assert (doors.paired.difference.mean, doors.paired.only_second, doors.paired.only_first) == (1.0, 12, 0)
    assert doors.paired.p_value == pytest.approx(2 * 0.5**12)
    assert (both.first.mean.tasks, both.second.mean.mean) == (14, 1.0)
    assert doors.first.over_seeds is None


def test_an_agent_is_as_good_as_itself(play: Callable[..., Path]) -> None:
    folder = play("random")
    for each in compare([folder], [folder], ["success", "score", "return", "turns"]):
        assert (each.paired.difference.mean, each.paired.p_value, each.paired.tasks_needed) == (0.0, 1.0, None)


def test_several_seeds_are_attempts_and_their_spread_is_told(play: Callable[..., Path]) -> None:
    seeds = [play("random", temperature) for temperature in (0.1, 0.2)]
    found, *_ = compare([play("constant:wait")], seeds)
    assert len(found.second.by_seed) == 2
    assert found.second.mean.mean == pytest.approx(sum(found.second.by_seed) / 2)
    assert found.second.over_seeds is not None
    low, high = found.second.over_seeds
    assert low <= found.second.mean.mean <= high


def test_different_panels_are_not_compared(play: Callable[..., Path], tmp_path: Path) -> None:
    other = evaluate("oracle", panel=make_panel("doors", "", [part(seed=9)]), root=tmp_path).folder
    with pytest.raises(CairnError, match=r"is of panel 'doors' .* results of different tasks are not compared"):
        compare([play("oracle")], [other])


def test_measures_that_there_are_not_are_refused(play: Callable[..., Path]) -> None:
    with pytest.raises(CairnError, match="no measure 'luck'; choose of success"):
        compare([play("oracle")], [play("oracle")], ["luck"])
