"""Two agents on one panel; two panels are not compared."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cairn.agents.evaluation.compare import compare
from cairn.agents.evaluation.evaluate import evaluate
from cairn.agents.evaluation.panel import Panel, make_panel, perturbed_panel
from cairn.cli.main import app
from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from tests.agents.evaluation.test_panel import part

TASKS = [f"{colour}-{number}" for colour in ("amber", "red", "green") for number in range(4)]
PANEL = make_panel("doors", "", [part(tasks=dict.fromkeys(TASKS, "")), part(family="quick", config={"turn_limit": 3})])

HOUSE = make_panel("house", "", [part(env="household", config={"size": "tiny"}, tasks={"gen-train/000003": ""})])


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


def test_several_seeds_are_attempts_and_their_spread_is_reported(play: Callable[..., Path]) -> None:
    seeds = [play("random", temperature) for temperature in (0.1, 0.2)]
    found, *_ = compare([play("constant:wait")], seeds)
    assert len(found.second.by_seed) == 2
    assert found.second.mean.mean == pytest.approx(sum(found.second.by_seed) / 2)
    assert found.second.over_seeds is not None
    low, high = found.second.over_seeds
    assert low <= found.second.mean.mean <= high


@pytest.mark.parametrize(("given", "reported"), [(["a", "b/../a"], "not a second seed"), ([], "got none")])
def test_an_evaluation_is_not_two_seeds(
    play: Callable[..., Path], tmp_path: Path, given: list[str], reported: str
) -> None:
    folder = play("random")
    (tmp_path / "b").mkdir()
    (tmp_path / "a").symlink_to(folder)
    with pytest.raises(CairnError, match=reported):
        compare([folder], [tmp_path / name for name in given])


def test_a_task_that_failed_in_one_of_several_evaluations_is_reported_with_the_remedy(tmp_path: Path) -> None:
    doomed = {"doom": "a", "how": "raises"}  # an agent that uses the oracle does not fail

    def play(agent: str, temperature: float) -> Path:
        where, tasks = "tests.trainer.doomed:Doomed", ["amber-0", "red-0"]
        return evaluate(agent, where, config=doomed, tasks=tasks, root=tmp_path, temperature=temperature).folder

    whole, other, with_gap = play("oracle", 0.1), play("oracle", 0.2), play("random", 0.1)
    assert compare([whole], [whole, other])
    with pytest.raises(CairnError, match=r"1 of the tasks in .*, such as 'amber-0', .* Repeat the same cairn eval"):
        compare([whole], [whole, with_gap])


def test_different_panels_are_not_compared(play: Callable[..., Path], tmp_path: Path) -> None:
    other = evaluate("oracle", panel=make_panel("doors", "", [part(seed=9)]), root=tmp_path).folder
    with pytest.raises(CairnError, match=r"is of panel 'doors' .* results of different tasks are not compared"):
        compare([play("oracle")], [other])


def test_the_same_tasks_in_other_words_are_compared_and_perturbations_are_reported(tmp_path: Path) -> None:
    panels = HOUSE, perturbed_panel(HOUSE, "rename")
    plain, renamed = ([evaluate("oracle", panel=panel, root=tmp_path).folder] for panel in panels)
    (found,) = compare(plain, renamed)
    assert (found.first.perturbations, found.second.perturbations) == ((), ("rename",))
    assert (found.first.mean.mean, found.second.mean.mean, found.paired.p_value) == (1.0, 1.0, 1.0)
    with pytest.raises(CairnError, match="different tasks are not compared"):
        compare(plain, [*plain, *renamed])  # as if they were two seeds


def test_seeds_of_perturbations_are_reported(tmp_path: Path) -> None:
    def play(seed: int) -> list[Path]:
        perturb = {"rename": {"seed": seed}, "shuffle": {}}
        changed = HOUSE.parts[0].model_copy(update={"config": {"size": "tiny", "perturb": perturb}})
        other = HOUSE.model_copy(update={"parts": (changed.model_copy(update={"may_differ": True}),)})
        return [evaluate("oracle", panel=other, root=tmp_path).folder]

    (found,) = compare(play(1), play(2))
    assert found.first.perturbations == ("rename(seed=1)", "shuffle")
    assert found.second.perturbations == ("rename(seed=2)", "shuffle")


@pytest.mark.parametrize(
    "changes",
    [{"seed": 4}, {"attempts": 2}, {"version": 7}, {"config": {"turn_limit": 4}}, {"tasks": {"amber-0": ""}}],
)
def test_panels_that_differ_in_more_than_wording_have_different_task_hashes(changes: dict[str, object]) -> None:
    one = Panel(name="doors", summary="", parts=(part(),))
    assert perturbed_panel(one, "rename").tasks_hash() == one.tasks_hash()
    other = one.model_copy(update={"parts": (part(**changes),)})
    assert perturbed_panel(other, "rename").tasks_hash() != one.tasks_hash()


def test_unknown_measures_are_rejected(play: Callable[..., Path]) -> None:
    with pytest.raises(CairnError, match="no measure 'luck'; choose of success"):
        compare([play("oracle")], [play("oracle")], ["luck"])


def test_excluded_episodes_are_reported_by_side(tmp_path: Path) -> None:
    whole, lossy = (
        evaluate(agent, "examples.doors:Doors", tasks=4, attempts=2, root=tmp_path).folder
        for agent in ("oracle", "constant:wait")
    )
    with RunStore(lossy / "run.sqlite") as store:
        change = "UPDATE episodes SET score = NULL, success = NULL, ending = 'failed', cause = 'model' WHERE id = 1"
        store._write(methodcaller("execute", change))
    (found,) = compare([whole], [lossy])
    assert (found.first.excluded, found.first.is_final) == ((0.0,), True)
    assert (found.second.excluded, found.second.is_final) == ((1 / 8,), False)
    shown = CliRunner().invoke(app, ["compare", str(whole), str(lossy)]).output
    assert "NOT FINAL: B, examples.doors:Doors: 12.5 % of the episodes failed and are excluded" in shown
    assert "A, examples.doors:Doors: 0.0 %" not in shown
