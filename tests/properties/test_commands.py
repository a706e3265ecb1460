"""Properties of every command: each answers programs in JSON, explains itself, and refuses in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cairn.cli._shared.completion import COMPLETERS
from cairn.cli.main import app
from cairn.envs.registry import ids

ENV = "examples.doors:Doors"
run = CliRunner()
CHEAP: dict[str, tuple[str, ...]] = {  # arguments of each command in an empty folder
    "envs list": (),
    "envs new": ("ticket-desk",),
    "eval": (ENV, "--tasks", "3"),
    "panels list": (),
    "panels make": ("doors.toml", "--env", ENV, "--tasks", "3"),
    "play": (ENV, "--agent", "oracle", "--task", "red-1", "--render", "film.html"),
    "plugins": ("--point", "tracker"),
}


def commands(found: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # Any: Click's commands
    """Yield every command that does something, with its arguments."""
    below = getattr(found, "commands", None)
    if below is None:
        yield path, found
    for name, command in (below or {}).items():
        yield from commands(command, f"{path} {name}".strip())


COMMANDS = dict(commands(typer.main.get_command(app)))


def answers_json(command: Any) -> bool:  # Any: as above
    return any("--json" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_answers_programs(path: str) -> None:
    assert answers_json(COMMANDS[path]), f"cairn {path} has no --json"


def test_a_command_without_json_output_is_detected() -> None:
    other = typer.Typer()
    other.command()(lambda: None)
    assert not answers_json(typer.main.get_command(other))


@pytest.mark.parametrize("path", CHEAP)
def test_an_answer_is_one_json_value_and_nothing_else(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run.invoke(app, [*path.split(), *CHEAP[path], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) is not None


@pytest.mark.parametrize("name", ids())
def test_an_environment_is_described_in_json(name: str) -> None:
    done = run.invoke(app, ["envs", "list", name, "--json"])
    if done.exit_code:
        assert done.stderr.startswith("cairn: ")  # a requirement is missing here
        pytest.skip(done.stderr)
    assert {each["name"] for each in json.loads(done.stdout)["settings"]} >= {"turn_limit"}


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_explains_itself_and_its_options(path: str) -> None:
    shown = run.invoke(app, [*path.split(), "--help"])
    assert shown.exit_code == 0
    assert COMMANDS[path].help
    assert not [p.name for p in COMMANDS[path].params if p.name != "help" and not p.help]


@pytest.mark.parametrize("path", COMMANDS)
def test_an_unknown_option_is_refused(path: str) -> None:
    done = run.invoke(app, [*path.split(), "--no-such-option"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "No such option: --no-such-option" in done.stderr


@pytest.mark.parametrize("place", COMPLETERS)
def test_every_completed_name_is_a_parameter_of_some_command(place: str) -> None:
    path, _, name = place.rpartition(".")
    chosen = [COMMANDS[path]] if path else COMMANDS.values()
    assert any(parameter.name == name for command in chosen for parameter in command.params)
