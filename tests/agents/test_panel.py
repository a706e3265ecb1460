"""Panels: the same tasks everywhere, or none; what was changed since is refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.agents.evaluate import evaluate, evaluate_panel
from cairn.agents.panel import Panel, Part, load_panel, make_panel, names, spread, write_panel
from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.core.records import Episode

DOORS = "examples.doors:Doors"


def part(**changes: object) -> Part:
    given = {"family": "doors", "env": DOORS, "version": 0, "tasks": {"amber-0": "", "red-1": ""}, "seed": 3, **changes}
    return Part.model_validate(given)


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


@pytest.mark.parametrize("name", names())
def test_panels_that_ship_are_as_they_were_made(name: str) -> None:
    assert load_panel(name).name == name


def test_all_of_a_panel_is_played_part_by_part(panel: Panel) -> None:
    heard: list[tuple[str, Episode]] = []
    found = evaluate_panel("oracle", panel, on_episode=lambda p, episode: heard.append((p.family, episode)))
    assert [(p.family, str(report.success.share), len(episodes)) for p, report, episodes in found] == [
        ("doors", "1.0", 2),
        ("quick", "1.0", 2),
    ]
    assert [family for family, _ in heard] == ["doors", "doors", "quick", "quick"]


def test_a_part_is_what_evaluate_plays(panel: Panel) -> None:
    _, alone = evaluate("random", DOORS, tasks=["amber-0", "red-1"], seed=3)
    _, _, together = evaluate_panel("random", panel)[0]
    assert [[turn.action for turn in episode.turns] for episode in together] == [
        [turn.action for turn in episode.turns] for episode in alone
    ]


def test_attempts_at_a_task_are_a_group_with_chance_of_their_own() -> None:
    panel = make_panel("often", "", [part(attempts=6)])
    _, _, episodes = evaluate_panel("random", panel)[0]
    assert [episode.group_id for episode in episodes] == [0, 1] * 6
    assert len({tuple(turn.action for turn in episode.turns) for episode in episodes if not episode.group_id}) > 1


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 7}, "version 7 of .*this is version"),
        ({"tasks": {"amber-0": "0" * 16}}, "'amber-0' of .* begins otherwise here"),
        ({"tasks": {"nowhere-9": ""}}, "has no task 'nowhere-9' here; 1 of the panel's 1 are missing"),
    ],
)
def test_tasks_that_are_not_the_same_here_are_refused(panel: Panel, changes: dict[str, object], told: str) -> None:
    other = panel.model_copy(update={"parts": (panel.parts[0].model_copy(update=changes),)})
    with pytest.raises(CairnError, match=told):
        evaluate_panel("oracle", other)


def test_tasks_may_begin_otherwise_where_the_panel_says_so(panel: Panel) -> None:
    lenient = panel.parts[0].model_copy(update={"tasks": {"amber-0": ""}, "may_differ": True})
    assert evaluate_panel("oracle", panel.model_copy(update={"parts": (lenient,)}))[0][1].success.share == 1.0


def test_tasks_are_spread() -> None:
    assert spread([str(n) for n in range(10)], 3) == ["0", "3", "6"]
    assert spread(["a"], 3) == ["a"]
    assert spread([], 3) == []
