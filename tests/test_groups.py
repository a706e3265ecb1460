"""Tests of one group run in one process: versions of pytest and pytest-xdist that do not fit ignore groups silently."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.safety import without_pytest

GROUPED = """
import os
from pathlib import Path
import pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(20))
def test_it(number):
    Path(__file__).with_name(os.environ["PYTEST_XDIST_WORKER"]).touch()
"""


@pytest.mark.rotating(4)
def test_a_group_runs_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(GROUPED)
    options = ["-p", "no:cacheprovider", "-n", "3", "--dist", "loadgroup"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=without_pytest(),
        timeout=60,
        check=False,
    )
    assert "20 passed" in done.stdout
    assert len(list(tmp_path.glob("gw*"))) == 1
