"""`cairn envs`, and the page docs/add_env.md followed to the letter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.envs import registry
from tests.safety import without_pytest

pytestmark = pytest.mark.rotating(3)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add_env.md").read_text(encoding="utf-8")
SOUND = "tests.envs.faulty:Sound"
run = CliRunner()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_on_adding_an_environment_works_as_written(tmp_path: Path) -> None:
    commands = "".join(blocks("console"))
    assert commands.count("\n") == 4
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    script = "\n".join(["set -ex", commands, *(f"python - <<'END'\n{block}END" for block in blocks("python"))])
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**without_pytest(), "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {file.name for file in tmp_path.glob("*.*")} >= {"ticket_desk.py", "test_ticket_desk.py", "ticket_desk.md"}


def test_new_writes_into_the_folders_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "cairn-rl"\n')
    monkeypatch.chdir(tmp_path)
    answer = json.loads(run.invoke(app, ["envs", "new", "ticket-desk", "--json"]).stdout)
    assert answer["files"] == [
        "envs/ticket_desk/__init__.py",
        "envs/ticket_desk/env.py",
        "tests/envs/test_ticket_desk.py",
        "docs/envs/ticket-desk.md",
    ]
    assert answer["next"] == [
        "cairn envs check ticket-desk",
        "python -m pytest tests/envs/test_ticket_desk.py",
        "add envs/ticket-desk.md to nav in zensical.toml",
        "make docs",
    ]
    assert "cairn envs check ticket-desk" in (tmp_path / "docs/envs/ticket-desk.md").read_text()


def test_new_code_passes_the_checks_of_this_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "cairn-rl"\n')
    monkeypatch.chdir(tmp_path)
    assert run.invoke(app, ["envs", "new", "a-name-as-long-as-anyone-would-want-it"]).exit_code == 0
    config = ["--config", str(ROOT / "pyproject.toml")]
    for check in (["ruff", "check", *config], ["ruff", "format", "--check", *config]):
        done = subprocess.run([sys.executable, "-m", *check, "."], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["Ticket", "ticket_desk", "-ticket", "ticket-", "9ticket", "../ticket", ""])
def test_new_refuses_a_name_that_does_not_fit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run.invoke(app, ["envs", "new", "--", name])
    assert done.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_new_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ticket_desk.md").write_text("mine")
    done = run.invoke(app, ["envs", "new", "ticket-desk"])
    assert done.exit_code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["ticket_desk.md"]


def test_list_shows_every_environment() -> None:
    rows = json.loads(run.invoke(app, ["envs", "list", "--json"]).stdout)
    assert [row["id"] for row in rows] == registry.ids()


def test_list_shows_the_settings_and_tasks_of_one() -> None:
    shown = json.loads(run.invoke(app, ["envs", "list", SOUND, "--set", "turn_limit=3", "--json"]).stdout)
    assert shown["num_tasks"] == 24
    assert shown["settings"][0]["value"] == 3
    tasks = run.invoke(app, ["envs", "list", SOUND, "--tasks"]).output.splitlines()
    assert tasks[0] == "amber-blue-coral-green"
    assert len(tasks) == 24


def test_check_prints_a_report_per_property() -> None:
    done = run.invoke(app, ["envs", "check", SOUND, "--json"])
    assert done.exit_code == 0
    assert all(report["holds"] for report in json.loads(done.stdout))


def test_check_ends_with_status_1_where_a_property_is_violated() -> None:
    done = run.invoke(app, ["envs", "check", "tests.envs.faulty:WithoutVersion"])
    assert done.exit_code == 1
    assert "BROKEN" in done.output


def test_a_wrong_request_gives_one_line_and_status_2() -> None:
    done = run.invoke(app, ["envs", "check", "no-such-thing"])
    assert done.exit_code == 2
    assert done.stderr.startswith("cairn: Unknown environment 'no-such-thing'.")
    assert done.stderr.count("\n") == 1
