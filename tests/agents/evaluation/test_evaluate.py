"""Evaluations on panels: stored, not repeated, resumed, equal on every machine; invalid ones are rejected."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cairn
from cairn.agents.evaluation.evaluate import Evaluation, evaluate, load_evaluation, outcomes
from cairn.agents.evaluation.jobs import Pace, play_tasks
from cairn.agents.evaluation.panel import Panel, PanelSection, make_panel
from cairn.core.errors import CairnError, ConfigError
from cairn.core.records import Episode
from cairn.core.store import RunStore, read
from tests.agents.evaluation.test_panel import DOORS, part


@pytest.fixture
def panel() -> Panel:
    return make_panel("two-doors", "", [part(), part(family="quick", config={"turn_limit": 3})])


@pytest.fixture
def play(panel: Panel, tmp_path: Path) -> Callable[..., Evaluation]:
    def played(agent: str = "random", **options: Any) -> Evaluation:  # Any: as `evaluate` takes them
        return evaluate(agent, panel=options.pop("panel", panel), root=tmp_path / "evals", **options)

    return played


def episodes(evaluation: Evaluation, number: int = 0) -> list[Episode]:
    with RunStore.read(evaluation.folder) as store:
        return list(read.whole_episodes(store, read.episodes(store, step=number)))


def test_all_of_a_panel_is_played_part_by_part(play: Callable[..., Evaluation]) -> None:
    heard: list[str] = []
    found = play("oracle", on_episode=lambda part, _: heard.append(part.family))
    assert heard == ["doors", "doors", "quick", "quick"]
    assert [(each.family, each.measures.episodes) for each in found.parts] == [("doors", 2), ("quick", 2)]
    for each in found.parts:
        assert each.measures.success is not None
        assert each.measures.success.mean == 1.0
    assert found.played == 4


def test_the_same_evaluation_is_not_played_twice(play: Callable[..., Evaluation]) -> None:
    first, second = play(), play(on_episode=lambda *_: pytest.fail("an episode was played again"))
    assert (first.played, second.played) == (4, 0)
    assert first.parts == second.parts
    assert load_evaluation(first.folder).parts == first.parts


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": "oracle"},
        {"temperature": 0.7},
        {"settings": {"sampling": {"max_context": 512}}},
        {"panel": make_panel("two-doors", "", [part(seed=4)])},
    ],
)
def test_a_changed_setting_starts_another_evaluation(play: Callable[..., Evaluation], changes: dict[str, Any]) -> None:
    first, other = play(), play(**changes)
    assert first.folder != other.folder
    assert other.played


def test_how_fast_it_is_played_changes_nothing(play: Callable[..., Evaluation], tmp_path: Path, panel: Panel) -> None:
    one = play()
    assert play(pace=Pace(slots=3)).played == 0
    other = evaluate("random", panel=panel, root=tmp_path / "other", pace=Pace(slots=3, processes=True))
    assert [each.digest for each in other.parts] == [each.digest for each in one.parts]


def test_different_episodes_have_different_digests(play: Callable[..., Evaluation]) -> None:
    assert play("oracle").parts[0].digest != play("random").parts[0].digest


@pytest.mark.rotating(4)
def test_results_are_equal_in_two_processes_with_different_hash_seeds(panel: Panel, tmp_path: Path) -> None:
    code = (
        "import json, sys; from cairn.agents.evaluation.evaluate import evaluate; from pathlib import Path\n"
        "found = evaluate('random', 'examples.doors:Doors', tasks=12, attempts=2, root=Path(sys.argv[1]))\n"
        "reported = found.to_dict(); [reported.pop(name) for name in ('folder', 'seconds')]\n"
        "[each.pop('seconds') for each in reported['parts']]; print(json.dumps(reported))"
    )
    reported = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)], env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert reported[0] == reported[1]
    assert json.loads(reported[0])["parts"][0]["episodes"] == 24


def test_an_interrupted_evaluation_is_resumed(play: Callable[..., Evaluation], tmp_path: Path) -> None:
    def stop(part: PanelSection, episode: Episode) -> None:
        if episode.task.task_id == "red-1":
            raise KeyboardInterrupt

    left: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        play(on_episode=stop, on_left=left.append)
    (folder,) = (tmp_path / "evals").iterdir()
    with pytest.raises(CairnError, match="stopped after 2 of 4 episodes"):
        load_evaluation(folder)
    found = play(on_episode=lambda *_: left.append(0), on_left=left.append)
    assert (found.played, found.folder) == (2, folder)
    assert left == [4, 2, 0, 0]  # said before the first episode of each time
    undisturbed = evaluate("random", panel=found.panel, root=tmp_path / "other")
    assert [each.digest for each in found.parts] == [each.digest for each in undisturbed.parts]


def test_failed_episodes_are_reported_and_retried(tmp_path: Path) -> None:
    doomed = {"doom": "a", "how": "raises"}

    def play(root: str) -> Evaluation:
        tasks = ["amber-0", "red-0"]
        return evaluate("random", "tests.trainer.doomed:Doomed", config=doomed, tasks=tasks, root=tmp_path / root)

    first, again = play("a"), play("a")
    assert (first.played, again.played) == (2, 1)
    measures = first.parts[0].measures
    assert dict(measures.failed) == {"environment": 1}
    assert (measures.episodes, measures.tasks) == (1, 1)
    assert dict(again.parts[0].measures.failed) == {"environment": 1}
    assert (first.is_final, first.to_dict()["is_final"]) == (False, False)


def test_a_part_plays_the_same_actions_as_its_tasks_alone(play: Callable[..., Evaluation]) -> None:
    _, alone = play_tasks("random", DOORS, tasks=["amber-0", "red-1"], seed=3)
    assert [[turn.action for turn in each.turns] for each in episodes(play())] == [
        [turn.action for turn in each.turns] for each in alone
    ]


def test_attempts_at_a_task_form_a_group_and_have_different_seeds(play: Callable[..., Evaluation]) -> None:
    found = play(panel=make_panel("often", "", [part(attempts=6)]))
    played = episodes(found)
    assert sorted(each.group_id for each in played) == [0] * 6 + [1] * 6
    assert len({tuple(turn.action for turn in each.turns) for each in played if not each.group_id}) > 1
    measures = found.parts[0].measures
    assert list(measures.pass_at) == [1, 2, 4, 6]
    assert measures.success is not None
    assert measures.pass_at[1].mean == pytest.approx(measures.success.mean)
    assert all(len(values) == 6 for values in outcomes(found.folder, lambda row: row.reward).values())


def test_an_evaluation_is_public_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reported = cairn.evaluate("oracle", DOORS, tasks=3).to_dict()
    assert json.loads(json.dumps(reported))["parts"][0]["success"]["mean"] == 1.0
    assert reported["folder"].startswith("evals/")


def test_an_evaluation_needs_exactly_one_of_panel_and_environment(panel: Panel) -> None:
    with pytest.raises(ConfigError, match="cairn panels list"):
        evaluate("oracle")
    with pytest.raises(ConfigError, match="cairn panels list"):
        evaluate("oracle", DOORS, panel=panel)


def test_one_process_at_a_time(play: Callable[..., Evaluation]) -> None:
    def meddle(part: PanelSection, episode: Episode) -> None:
        with pytest.raises(CairnError, match="is being written by process"):
            play()

    play(on_episode=meddle)


def test_a_training_run_cannot_be_loaded_as_an_evaluation(tmp_path: Path) -> None:
    RunStore(tmp_path / "run.sqlite").close()
    with pytest.raises(CairnError, match="holds no evaluation"):
        load_evaluation(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"version": 7}, "version 7 of .*this is version"),
        ({"tasks": {"amber-0": "0" * 16}}, "'amber-0' of .* begins otherwise here"),
        ({"tasks": {"nowhere-9": ""}}, "has no task 'nowhere-9' here; 1 of the panel's 1 are missing"),
    ],
)
def test_tasks_that_are_not_the_same_here_are_refused(
    panel: Panel, changes: dict[str, object], reported: str, tmp_path: Path
) -> None:
    other = panel.model_copy(update={"parts": (panel.parts[0].model_copy(update=changes),)})
    with pytest.raises(CairnError, match=reported):
        evaluate("oracle", panel=other, root=tmp_path)


def test_a_panel_may_allow_tasks_with_another_first_observation(panel: Panel, tmp_path: Path) -> None:
    lenient = panel.parts[0].model_copy(update={"tasks": {"amber-0": ""}, "may_differ": True})
    found = evaluate("oracle", panel=panel.model_copy(update={"parts": (lenient,)}), root=tmp_path)
    assert found.parts[0].measures.episodes == 1
