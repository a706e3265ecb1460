"""The README's example prints the shown output, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.core.store import RunStore

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_example_prints_the_shown_output(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (output,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102
    assert capsys.readouterr().out == output


def check_held_out_tasks(folder: Path) -> None:
    """Check that a run played no task both to learn from and to be evaluated on."""
    sql = "SELECT DISTINCT phase, t.task FROM episodes e JOIN tasks t ON t.id = e.task"
    with RunStore.read(folder) as store:
        played = store.rows(sql)
        assert {share for _, share in store.series("eval/training_share")} == {0.0}
    trained, evaluated = ({task for of, task in played if of == phase} for phase in ("train", "eval"))
    assert trained
    assert evaluated
    assert not trained & evaluated


def test_readme_is_at_most_160_lines() -> None:
    assert len(README.splitlines()) <= 160


def test_the_commands_of_the_readme_exist() -> None:
    from typer.main import get_command

    from cairn.cli.main import app

    known = set(get_command(app).commands)  # type: ignore[attr-defined]  # a group of commands
    used = set(re.findall(r"^cairn (\w+)|`cairn (\w+)", README, re.MULTILINE))
    used = {name for names in used for name in names if name}
    assert used
    assert used <= known
    page = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
    assert set(re.findall(r"^\| `cairn (\w+)", page, re.MULTILINE)) == known  # the table of commands is whole
    targets = set(re.findall(r"^(\w+):", (Path(__file__).parents[1] / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE)) <= targets
