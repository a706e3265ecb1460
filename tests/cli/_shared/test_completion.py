"""Completion as shells ask for it: the right words in order, quickly found, and bash itself puts them in place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.cli._shared import completion
from cairn.core.plugins import CREDITS, ENVS, POINTS
from cairn.core.store import RunStore

CAIRN = Path(sys.executable).with_name("cairn")
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(autouse=True)
def _folder_with_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a-1", "runs/no-run", "elsewhere/b-2"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("runs/a-1", "elsewhere/b-2"):
        RunStore(tmp_path / name / "run.sqlite").close()
    (tmp_path / "mine.toml").touch()
    (tmp_path / "notes.txt").touch()


def asked(line: str) -> list[str]:
    """Return bash's completions when the tab key is hit at the end of the line."""
    words = line.split(" ")
    env = {**os.environ, "_CAIRN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return subprocess.run([CAIRN], env=env, capture_output=True, text=True, check=False).stdout.split()


def test_commands_options_and_names_are_completed() -> None:
    assert asked("cairn cre") == ["credit"]
    assert asked("cairn eval --pan") == ["--panel"]
    assert asked("cairn eval household --agent runs/") == ["runs/a-1", "runs/no-run/"]


@pytest.mark.parametrize(
    ("completer", "typed", "offered"),
    [
        (completion.environments, "", ENVS.ids()),
        (completion.credits_, "", CREDITS.ids()),
        (completion.points, "", [point.name for point in POINTS]),
        (completion.runs, "", ["runs/a-1", "elsewhere/", "runs/"]),
        (completion.runs, "elsewhere/", ["runs/a-1", "elsewhere/b-2"]),
        (completion.runs, "gone/", ["runs/a-1"]),
    ],
)
def test_completions_of_each_kind_of_argument(completer: completion.Completer, typed: str, offered: list[str]) -> None:
    assert completer(typed) == offered


def test_runs_that_ship_and_files_are_configurations() -> None:
    offered = completion.configurations("")
    assert {"quickstart", "mine.toml", "runs/"} <= set(offered)
    assert "notes.txt" not in offered


def test_agents_are_scripts_and_runs() -> None:
    assert {"oracle", "constant:", "openai:", "runs/a-1"} <= set(completion.agents(""))
    assert completion.players("")[0] == "you"


def test_benchmarks_and_sandboxes_are_offered_by_name() -> None:
    assert {"credit", "envs", "train"} <= set(completion.benchmarks(""))
    assert {"bubblewrap", "docker"} <= set(completion.sandboxes(""))


def test_completing_loads_nothing_heavy() -> None:
    code = (
        "import sys; from cairn.cli._shared import completion\n"
        "for each in completion.COMPLETERS.values(): each('')\n"
        "print(sorted({'torch', 'numpy', 'gymnasium', 'pydantic', 'rich', 'cairn.benchmarks'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def script(shell: str) -> str:
    env = {**os.environ, "_CAIRN_COMPLETE": f"source_{shell}"}
    return subprocess.run([CAIRN], env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str) -> None:
    assert f"_CAIRN_COMPLETE=complete_{shell}" in script(shell)


BASH = """
source <(_CAIRN_COMPLETE=source_bash "$CAIRN")
COMP_WORDS=("$CAIRN" credit runs/) COMP_CWORD=2
_cairn_completion "$CAIRN"
printf '%s\\n' "${COMPREPLY[@]}"
complete -p cairn
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_run() -> None:
    env = {**os.environ, "CAIRN": str(CAIRN)}
    done = subprocess.run(["bash", "-c", BASH], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "runs/a-1", "runs/no-run/", "complete -o default -F _cairn_completion cairn"
    ], done.stderr  # fmt: skip


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    file = tmp_path / "script"
    file.write_text(script(shell))
    assert subprocess.run([shell, "-n", file], capture_output=True, check=False).returncode == 0
