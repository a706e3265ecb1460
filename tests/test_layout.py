"""The layout of the repository: folders at the top level, imported as `cairn.<folder>` by links in `src/cairn`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.test_architecture import FOLDERS, ROOT


def test_every_folder_has_a_link() -> None:
    links = {path.name: path for path in (ROOT / "src" / "cairn").iterdir() if path.is_dir() and path.name[0] != "_"}
    assert links.keys() == {*FOLDERS, "configs"}
    for name, link in links.items():
        assert link.is_symlink()
        assert not link.readlink().is_absolute()
        assert link.resolve() == ROOT / name


def test_a_folder_of_the_same_name_in_the_current_folder_does_not_hide_the_package(tmp_path: Path) -> None:
    """As in the parent folder of a clone that is called cairn."""
    (tmp_path / "cairn" / "agents").mkdir(parents=True)
    code = "import cairn, cairn.agents.agent; print(cairn.make.__name__)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.stdout, ended.returncode) == ("make\n", 0), ended.stderr
