"""`cairn doctor`: findings, remedies, an end despite any fault, and output for any terminal."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cairn.cli._doctor import data, machine, packages, plugins
from cairn.cli._doctor.finding import Finding, refused
from cairn.cli.doctor import examine, show
from cairn.cli.main import app
from cairn.core.errors import CairnError, MissingDataError, MissingExtraError, MissingProgramError
from cairn.core.plugins import BACKENDS, ENVS, SANDBOXES, TRACKERS
from cairn.core.store import RunStore
from tests.core.store.test_store import damage_an_index, episode

run = CliRunner()
LONG = "cairn eval household --agent openai:MODEL --agent-set sampling.openai.url=http://127.0.0.1:8000/v1 --tasks 100"
FINDINGS = [
    Finding(section="machine", what="device", is_well=True, found="a long description of a device " * 6),
    Finding(section="machine", what="a name that is too long", is_well=None, found="[bold]", mend=LONG),
    Finding(section="data", what="webshop", is_well=False, found="/no/space/" * 20),
]


def finding(what: str) -> Finding:
    return Finding(section="any", what=what, is_well=True, found="well")


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_wider_than_the_terminal_but_commands_which_stay_whole(width: int) -> None:
    screen = io.StringIO()
    show(FINDINGS, Console(file=screen, width=width))
    lines = screen.getvalue().splitlines()
    assert max(len(line) for line in lines if "$ " not in line) <= width
    assert [line.strip() for line in lines if "$ " in line] == [f"$ {LONG}"]
    assert [line for line in lines if line in ("machine", "data")] == ["machine", "data"]
    assert any(line.split()[0] == "BROKEN" for line in lines if line)
    assert "[bold]" in screen.getvalue()
    assert "…" not in screen.getvalue()


def test_a_check_that_hangs_and_later_checks_are_reported_after_the_time_limit() -> None:
    terminated = threading.Event()

    def stuck() -> Iterator[Finding]:
        terminated.wait(60)
        yield finding("never")

    found = list(examine({"stuck": stuck, "after": lambda: [finding("after")]}, within=0.05))
    terminated.set()
    assert [(each.section, each.what, each.is_well) for each in found] == [
        ("stuck", "the rest", None), ("after", "the rest", None),
    ]  # fmt: skip
    assert found[0].mend.startswith("cairn doctor --within ")


def test_a_check_that_raises_is_a_finding_and_the_others_are_made() -> None:
    def broken() -> Iterator[Finding]:
        yield finding("before")
        raise ImportError("libcudart.so.13: no such file")

    found = list(examine({"broken": broken, "after": lambda: [finding("after")]}, within=float("inf")))
    assert [(each.what, each.is_well) for each in found] == [("before", True), ("broken", False), ("after", True)]
    assert found[1].found == "ImportError: libcudart.so.13: no such file"


@pytest.mark.parametrize(
    ("error", "is_well", "mend"),
    [
        (MissingExtraError("It", "docker"), None, "pip install 'docker>=7'"),
        (MissingProgramError("No browser", command="apt-get install chromium"), None, "apt-get install chromium"),
        (MissingDataError("No file"), None, "export CAIRN_DATA=DIR"),
        (CairnError("It is damaged"), False, ""),
    ],
)
def test_a_missing_part_is_a_warning_and_a_damaged_part_is_an_error(
    error: CairnError, is_well: bool | None, mend: str
) -> None:
    found = refused("environments", "x", error)
    assert (found.is_well, found.mend) == (is_well, mend)


def test_data_is_found_or_the_variable_to_set_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path))
    (tmp_path / "alfworld").mkdir()
    (tmp_path / "alfworld" / "train.jsonl.gz").touch()
    found = {each.what: each for each in data.data()}
    assert (found["alfworld"].is_well, found["alfworld"].mend) == (True, "")
    assert found["alfworld"].found.startswith("1 files")
    assert (found["mbpp"].is_well, found["mbpp"].mend) == (
        None,
        "export CAIRN_DATA=DIR  # a folder with mbpp/mbpp.jsonl",
    )
    monkeypatch.setenv("CAIRN_DATA", str(tmp_path / "gone"))
    assert next(iter(data.data())).is_well is False
    monkeypatch.delenv("CAIRN_DATA")
    assert {each.is_well for each in data.data()} == {None}


def test_a_package_that_is_needed_and_missing_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "PACKAGES", ("torch", "no-such-package"))
    found = {each.what: each for each in packages.packages()}
    assert (found["torch"].is_well, found["torch"].mend) == (True, "")
    assert (found["no-such-package"].is_well, found["no-such-package"].mend) == (False, "pip install no-such-package")


@pytest.mark.parametrize(
    ("script", "version"), [("echo 580.95.05\necho 580.95.05", "580.95.05"), ("exit 9", None), ("", None)]
)
def test_the_version_of_the_driver(
    script: str, version: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.driver_version() == version


def test_without_a_driver_the_version_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.driver_version() is None


def test_every_tracker_is_looked_at() -> None:
    found = {each.what: each for each in plugins.trackers()}
    assert list(found) == TRACKERS.ids()
    assert found["tensorboard"].is_well


def test_every_back_end_is_looked_at_and_a_model_samples() -> None:
    found = {each.what: each for each in plugins.backends()}
    assert list(found) == BACKENDS.ids()
    assert found["hf"].is_well
    assert 1 <= int(found["hf"].found.split()[1]) <= 4
    assert found["openai"].mend.startswith("cairn eval")


def test_every_sandbox_is_looked_at() -> None:
    found = {each.what: each for each in plugins.sandboxes()}
    assert list(found) == SANDBOXES.ids()
    assert all(each.is_well or each.mend for each in found.values())


def test_the_option_run_reads_the_whole_file(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {}, [episode(1.0, "look", "go")])
    done = run.invoke(app, ["doctor", "--run", str(tmp_path), "--json"])
    (found,) = json.loads(done.stdout)
    assert (done.exit_code, found["section"], found["is_well"]) == (0, "run", True)
    assert found["found"].startswith("1 episodes and 2 turns")
    damage_an_index(tmp_path / "run.sqlite")
    done = run.invoke(app, ["doctor", "--run", str(tmp_path), "--json"])
    (found,) = json.loads(done.stdout)
    assert (done.exit_code, found["is_well"]) == (1, False)
    assert "is damaged" in found["found"]


@pytest.mark.slow
def test_every_environment_is_reset_and_the_output_is_one_json_value() -> None:
    done = run.invoke(app, ["doctor", "--within", "600", "--json"])
    found = json.loads(done.stdout)
    envs = {row["what"]: row for row in found if row["section"] == "environments"}
    assert list(envs) == ENVS.ids()
    assert envs["household"]["is_well"]
    assert "an oracle's step taken" in envs["household"]["found"]
    assert all(row["is_well"] or row["mend"] for row in found)
