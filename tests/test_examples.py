"""The examples that README and docs name: environments that keep their promises, and settings that load."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

import cairn
from cairn.core.store import RunStore
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from tests.sampling import sampled_params

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ("assistant", "lake", "parcels", "quiz")


@pytest.mark.parametrize(("example", "name"), sampled_params(product(NAMES, PROPERTIES), parts=8))
def test_the_properties_hold(example: str, name: str) -> None:
    report = check_property(name, Subject(f"examples.{example}:{example}"))
    assert report.holds, report.detail


@pytest.mark.parametrize(("example", "oracle"), [("assistant", "oracle"), ("parcels", "oracle"), ("quiz", "reference")])
def test_the_settings_load(example: str, oracle: str) -> None:
    cairn.register(example, getattr(import_module(f"examples.{example}"), example))
    config = cairn.load_run_config(EXAMPLES / "small.toml", {"env.id": example, "imitation.oracle": oracle})
    assert config.agent.context.settings["tools"] is True


@pytest.mark.slow
@pytest.mark.parametrize("example", NAMES)
def test_a_training_learns(example: str, tmp_path: Path) -> None:
    """Held-out success rises from under 35 % to over 70 %."""
    file = EXAMPLES / f"{example}.py"
    done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (run,) = (tmp_path / "runs").iterdir()
    with RunStore.read(RunStore.file(run)) as store:
        success = [value for _, value in store.series("eval/success")]
    assert success[0] < 0.35
    assert success[-1] > 0.7
