"""`make gpu` on a machine without a GPU: packages, parts, time limits and the line for the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from cairn.benchmarks import gpu
from tests.test_architecture import ROOT

pytestmark = pytest.mark.rotating(5)
WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")


def wheel(folder: Path, name: str) -> None:
    """Write a wheel of an empty module."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}/__init__.py", "")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")


def run(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]], str]:
    """Run the script in a process of its own; return its status, its lines and the line for the log."""
    ended = subprocess.run(
        [sys.executable, "-m", "cairn.benchmarks.gpu", "--folder", str(folder), *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        timeout=250,
    )
    *lines, last = ended.stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert json.loads((folder / "results.json").read_text()) == found, ended.stderr
    return ended.returncode, found, last


def test_missing_packages_are_installed_from_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "missing", lambda: ["no-such-one", "no-such-two"])
    wheel(tmp_path / "wheels", "no_such_one")
    wheel(tmp_path / "wheels", "torch")  # never installed: it would hide the machine's own
    found = gpu.install(tmp_path / "wheels", tmp_path / "packages")
    assert found == {"missing": ["no-such-two"], "source": "wheels"}
    assert (tmp_path / "packages" / "no_such_one" / "__init__.py").is_file()
    assert not (tmp_path / "packages" / "torch").exists()


def test_a_machine_with_all_packages_installs_none(tmp_path: Path) -> None:
    assert gpu.missing() == []
    assert gpu.install(tmp_path / "wheels", tmp_path / "packages") == {"missing": []}
    assert not (tmp_path / "packages").exists()


@WITHOUT_GPU
def test_without_a_gpu_each_part_says_why_it_is_skipped(tmp_path: Path) -> None:
    status, lines, last = run(tmp_path)
    assert status == 0
    skipped = [line["part"] for line in lines if line.get("skipped") == gpu.NO_DEVICE]
    assert skipped == ["tests", "train", "rollout"]
    assert f"| {gpu.NO_DEVICE}, driver , torch {torch.__version__} | `make gpu` | no tests; no figures" in last


def test_every_part_measures_a_tiny_model_on_the_cpu(tmp_path: Path) -> None:
    status, lines, last = run(tmp_path, "--tiny")
    assert status == 0, lines
    assert [line["part"] for line in lines if "seconds" in line] == list(gpu.PARTS)
    assert [line["tests"].split()[1] for line in lines if "tests" in line] == ["passed"] or "passed" in last
    figures = {line["part"]: line["value"] for line in lines if "value" in line}
    assert figures.keys() == {"train", "rollout"}
    assert all(value > 0 for value in figures.values())
    assert "train: tiny step" in last


def test_a_part_that_takes_too_long_is_ended_and_reported(tmp_path: Path) -> None:
    status, lines, _ = run(tmp_path, "--tiny", "--limit-s", "0.2")
    assert status == 1
    assert [line["failed"] for line in lines if "failed" in line] == ["not finished within 0.2 s"] * len(gpu.PARTS)


def test_the_line_for_the_log_has_the_machine_and_the_figures() -> None:
    lines: list[gpu.Line] = [
        {"part": "env", "torch": "2.11", "card": "H200", "driver": "580"},
        {"part": "tests", "tests": "9 passed in 8 s"},
        {"part": "train", "name": "utilisation", "value": 0.31234, "unit": "of peak"},
        {"part": "rollout", "skipped": "no reason"},
    ]
    found = gpu.log_line(lines)
    assert found[10:] == " | H200, driver 580, torch 2.11 | `make gpu` | 9 passed in 8 s; utilisation: 0.3123 of peak"
