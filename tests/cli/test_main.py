"""The command line as a whole: quick, complete, and the same for programs as for people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cairn.cli._shared.output import program
from cairn.cli.main import app
from cairn.core.plugins import POINTS

ROOT = Path(__file__).parents[2]
run = CliRunner()


def test_every_file_of_the_folder_is_a_command() -> None:
    shown = run.invoke(app, ["--help"]).output
    files = [file.stem for file in (ROOT / "cli").glob("*.py") if not file.stem.startswith("_") and file.stem != "main"]
    assert {"envs", "plugins", "doctor"} <= set(files)
    assert all(name.rstrip("_") in shown for name in files)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from cairn.cli.main import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print(sorted({'torch', 'transformers', 'numpy', 'scipy', 'gymnasium'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_plugins_lists_every_point_without_importing_its_modules() -> None:
    rows = json.loads(run.invoke(app, ["plugins", "--json"]).stdout)
    assert [(row["point"], row["id"]) for row in rows] == [
        (point.name, name) for point in POINTS for name in point.ids()
    ]
    assert all(row["summary"] for row in rows)


def test_a_row_of_a_table_is_one_line_where_output_is_kept() -> None:
    rows = json.loads(run.invoke(app, ["plugins", "--json"]).stdout)
    lines = run.invoke(app, ["plugins"]).output.splitlines()
    assert len(lines) == 1 + len(rows)
    assert max(map(len, lines)) > 80


def test_a_program_is_called_by_its_path_where_the_shell_would_not_find_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("cairn", "tensorboard"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "cairn"), "train"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program("tensorboard") == str(tmp_path / "tensorboard")
    assert program("other") == "other"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("tensorboard") == "tensorboard"


def test_plugins_of_one_point() -> None:
    rows = json.loads(run.invoke(app, ["plugins", "--point", "env", "--json"]).stdout)
    assert {row["point"] for row in rows} <= {"env"}


def test_an_unknown_point_names_the_nearest() -> None:
    done = run.invoke(app, ["plugins", "--point", "envs"])
    assert done.exit_code == 2
    assert "Did you mean 'env'?" in done.stderr


def test_the_page_of_plugins_has_every_plugin_with_its_settings() -> None:
    page = run.invoke(app, ["plugins", "--markdown"]).output
    assert [line[4:] for line in page.splitlines() if line.startswith("### ")] == [n for p in POINTS for n in p.ids()]
    assert "| `gamma` | `0.95` | Discount of the step returns. |" in page
