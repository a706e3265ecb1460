"""Panels: the same tasks everywhere, or none; a changed panel is rejected with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.agents.evaluation.evaluate import evaluate
from cairn.agents.evaluation.panel import (
    Panel,
    PanelSection,
    load_panel,
    make_panel,
    names,
    open_env,
    perturbed_panel,
    spread,
    with_attempts,
    write_panel,
)
from cairn.core.errors import ConfigError, MissingDataError, UnknownNameError
from cairn.core.records import Episode
from cairn.core.store import RunStore, read

DOORS = "examples.doors:Doors"


def part(**changes: object) -> PanelSection:
    given = {"family": "doors", "env": DOORS, "version": 0, "tasks": {"amber-0": "", "red-1": ""}, "seed": 3, **changes}
    return PanelSection.model_validate(given)


@pytest.fixture
def panel() -> Panel:
    return make_panel("two-doors", 'Two "doors" \\ é', [part(), part(family="quick", config={"turn_limit": 3})])


def test_a_panel_is_the_same_when_it_has_been_written_and_read(panel: Panel, tmp_path: Path) -> None:
    write_panel(panel, tmp_path / "p.toml")
    assert load_panel(tmp_path / "p.toml") == panel
    assert len(panel.hash) == 64
    assert make_panel("two-doors", panel.summary, panel.parts) == panel


@pytest.mark.parametrize(
    ("old", "new"),
    [("seed = 3", "seed = 4"), ('"amber-0"', '"amber-1"'), ("turn_limit", "other"), ("attempts = 1", "attempts = 2")],
)
def test_a_file_that_was_changed_is_refused(panel: Panel, tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "p.toml"
    write_panel(panel, file)
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ConfigError, match="was changed since it was made"):
        load_panel(file)


def test_a_panel_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="cairn panels"):
        load_panel("no-such-panel")
    with pytest.raises(ConfigError, match="No configuration file"):
        load_panel(tmp_path / "none.toml")


SHIPPED = [(name, number) for name in names() for number in range(len(load_panel(name).parts))]


@pytest.mark.rotating(3)
@pytest.mark.parametrize(("name", "number"), SHIPPED)
def test_tasks_of_panels_that_ship_begin_here_as_where_they_were_made(name: str, number: int) -> None:
    chosen = load_panel(name).parts[number]
    assert load_panel(name).name == name
    if chosen.may_differ:
        pytest.skip("pages are drawn by the browser at hand")
    try:
        open_env(chosen).close()
    except (MissingDataError, ConfigError) as error:
        if os.environ.get("CAIRN_DATA"):
            raise
        pytest.skip(f"CAIRN_DATA is not set: {error}")
    few = chosen.model_copy(update={"tasks": {task: chosen.tasks[task] for task in spread(list(chosen.tasks), 3)}})
    again = make_panel(name, "", [few])
    assert again.parts[0] == few


def test_a_perturbed_panel_has_the_same_tasks_and_another_hash(tmp_path: Path) -> None:
    house = {"family": "house", "env": "household", "config": {"size": "tiny"}, "tasks": {"gen-train/000003": ""}}
    plain = make_panel("house", "One task.", [part(**house)])
    other = perturbed_panel(plain, "rename", "paraphrase")
    assert (other.name, other.summary) == ("house.paraphrase-rename", "One task. Perturbed: paraphrase, rename.")
    assert other.parts[0].config == {"size": "tiny", "perturb": {"paraphrase": {}, "rename": {}}}
    assert other.hash == other.content_hash() != plain.hash
    assert other == perturbed_panel(plain, "paraphrase", "rename")
    played, before = (_played(each, tmp_path) for each in (other, plain))
    assert played.success
    assert played.turns[0].observation.anchor == before.turns[0].observation.anchor
    assert played.turns[0].observation.text != before.turns[0].observation.text


def test_an_unknown_perturbation_is_rejected_with_a_suggestion(panel: Panel) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'rename'"):
        perturbed_panel(panel, "renamed")


def test_a_panel_of_more_attempts_is_another(panel: Panel) -> None:
    often = with_attempts(panel, 4)
    assert (often.name, often.summary) == ("two-doors.x4", f"{panel.summary} Attempts at each task: 4.")
    assert [part.attempts for part in often.parts] == [4, 4]
    assert [part.tasks for part in often.parts] == [part.tasks for part in panel.parts]
    assert often.hash == often.content_hash() != panel.hash
    assert with_attempts(panel, 1) is panel


def test_tasks_are_spread() -> None:
    assert spread([str(n) for n in range(10)], 3) == ["0", "3", "6"]
    assert spread(["a"], 3) == ["a"]
    assert spread([], 3) == []


def _played(panel: Panel, root: Path) -> Episode:
    with RunStore.read(evaluate("oracle", panel=panel, root=root).folder) as store:
        (episode,) = read.whole_episodes(store, read.episodes(store))
    return episode
