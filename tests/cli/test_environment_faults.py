"""Every command names an environment that raises in one line, for every exception and every method."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.envs.base import EnvConfig, Outcome
from examples.doors import Doors

pytestmark = pytest.mark.rotating(3)

ENV = "tests.cli.test_environment_faults:Broken"
run = CliRunner()


class BrokenConfig(EnvConfig):
    method: str = Field("", description="The method that raises.")
    quits: bool = Field(False, description="Whether it raises SystemExit.")


class Broken(Doors):
    """Doors of which one method raises."""

    Config: ClassVar[type[EnvConfig]] = BrokenConfig

    def _break(self, method: str) -> None:
        assert isinstance(self.config, BrokenConfig)
        if method == self.config.method:
            raise SystemExit(3) if self.config.quits else LookupError("the key is lost")

    def setup(self) -> None:
        self._break("setup")
        super().setup()

    def start(self, task_id: str, rng: random.Random) -> str:
        self._break("start")
        return super().start(task_id, rng)

    def act(self, action: str) -> Outcome:
        self._break("act")
        return super().act(action)

    def task_type(self, task_id: str) -> str:
        self._break("task_type")
        return super().task_type(task_id)

    def close(self) -> None:
        self._break("close")


ONE_UPDATE = (
    "trainer.updates=1 trainer.groups=2 trainer.group_size=2 imitation.episodes=4 imitation.oracle=reader eval.tasks=2 "
    'sampling.slots=2 model.preset="qwen3-nano" trainer.retries=0'
)
COMMANDS = {  # by the methods that they call in this process, outside episodes that may fail
    "envs list": ("envs list ENV", ["setup"]),
    "envs list --tasks": ("envs list ENV --tasks", ["setup"]),
    "envs check": ("envs check ENV", ["setup"]),
    "play": ("play ENV", ["setup", "start", "act"]),
    "play an agent": ("play ENV --agent random", ["setup"]),
    "eval": ("eval ENV --agent random --tasks 2", ["setup", "task_type"]),
    "panels make": ("panels make p.toml --env ENV", ["setup", "start"]),
    "train": ("train doors.toml --folder run " + " ".join(f"--set {each}" for each in ONE_UPDATE.split()), ["setup"]),
}
CASES = [(name, method) for name, (_, methods) in COMMANDS.items() for method in methods]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def command(name: str, method: str, quits: bool = False) -> list[str]:
    settings = [f"method={method}", f"quits={str(quits).lower()}"]
    if name == "train":
        table = f'env.id = "{ENV}"\n[env.config]\nmethod = "{method}"\nquits = {str(quits).lower()}\n'
        Path("doors.toml").write_text(table)
        return COMMANDS[name][0].split()
    return [*COMMANDS[name][0].replace("ENV", ENV).split(), *(part for each in settings for part in ("--set", each))]


@pytest.mark.parametrize("quits", [False, True], ids=["raises", "quits"])
@pytest.mark.parametrize(("name", "method"), CASES, ids=[f"{name}: {method}" for name, method in CASES])
def test_a_fault_gives_one_line_that_names_the_environment_and_the_method(name: str, method: str, quits: bool) -> None:
    done = run.invoke(app, command(name, method, quits), input="left\n")
    reported = done.stderr.splitlines()[-1]
    kind = "SystemExit: 3" if quits else "LookupError: the key is lost"
    assert reported.startswith(
        f"cairn: environment 'doors' raised {kind} (in {method}(): test_environment_faults.py, line"
    )
    assert done.exit_code == 2
    assert "Traceback" not in done.output


@pytest.mark.parametrize("quits", [False, True], ids=["raises", "quits"])
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "envs check"])  # which looks for faults
def test_a_fault_of_close_is_a_warning_and_keeps_the_result(name: str, quits: bool) -> None:
    sound = run.invoke(app, command(name, "", quits), input="left\n" * 20)
    shutil.rmtree("run", ignore_errors=True)
    Path("p.toml").unlink(missing_ok=True)
    done = run.invoke(app, command(name, "close", quits), input="left\n" * 20)
    assert done.exit_code == sound.exit_code == 0
    assert "cairn: warning: Environment 'doors' failed to close: " in done.stderr
    assert "Traceback" not in done.output
