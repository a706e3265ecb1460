"""An installation without extras: every listing works, and a missing package is named with its extra."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from cairn.core.plugins import ENVS
from tests.sampling import sampled_params
from tests.test_architecture import ROOT

_BLOCKED = """
import sys
from importlib.machinery import PathFinder

MISSING = set(sys.argv.pop(1).split(","))

class Hides(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in MISSING else super().find_spec(name, path, target)

sys.meta_path[:] = [Hides if finder is PathFinder else finder for finder in sys.meta_path]
"""
_COMMAND = "\nfrom cairn.cli.main import app\napp()\n"
COMMANDS = ("plugins", "panels list", "doctor", "eval household --agent oracle --tasks 1", "train --help")


def modules_of_extras() -> str:
    """Return the top-level modules that only the extras bring, among those that are installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {_name(each) for extra in project["optional-dependencies"].values() for each in extra}
    core = {_name(each) for each in project["dependencies"]}
    chosen = wanted - core - {"pytest", "pyyaml", "markdown-it-py"}  # the latter two come with transformers and rich
    return ",".join(
        module
        for module, owners in sorted(packages_distributions().items())
        if {owner.lower().replace("_", "-") for owner in owners} & chosen
    )


def _name(requirement: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else " " for c in requirement).split()[0].lower().replace("_", "-")


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, modules_of_extras(), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_extras_are_blocked() -> None:
    assert {"playwright", "docker", "ray", "pyarrow"} <= set(modules_of_extras().split(","))
    ended = run(f"{_BLOCKED}\nimport playwright")
    assert "No module named 'playwright'" in ended.stderr


@pytest.mark.rotating(4)
@pytest.mark.parametrize("command", ["envs list", *sampled_params(COMMANDS, parts=3)])
def test_a_command(command: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("run"))
    ended = run(_BLOCKED + _COMMAND, *command.split())
    assert "Traceback" not in ended.stderr, ended.stderr[-2000:]
    assert "BROKEN" not in ended.stdout, ended.stdout[-2000:]
    assert command == "doctor" or ended.returncode == 0, ended.stderr


def test_every_environment_is_built_or_names_the_missing_extra() -> None:
    program = f"""{_BLOCKED}
import cairn
from cairn.core.errors import CairnError
for name in {ENVS.ids()!r}:
    try:
        cairn.make(name).close()
        print(name, "made")
    except CairnError as error:
        print(name, type(error).__name__, error)
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "household made" in ended.stdout
    assert {line.split()[0] for line in ended.stdout.splitlines()} >= set(ENVS.ids())
