"""A folder whose files were changed, lost or added is noticed, and the message names them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.core.folders import FILE, check_manifest, write_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"first")
    (tmp_path / "b").write_bytes(b"second")
    write_manifest(tmp_path)
    return tmp_path


def test_an_unchanged_folder_is_whole(folder: Path) -> None:
    assert check_manifest(folder) == ""


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda folder: (folder / "a").write_bytes(b"torn"), "a changed"),
        (lambda folder: (folder / "b").unlink(), "missing ['b'], unexpected []"),
        (lambda folder: (folder / "c").touch(), "missing [], unexpected ['c']"),
        (lambda folder: (folder / FILE).write_text("{"), "is not JSON"),
        (lambda folder: (folder / FILE).write_text("[1]"), "unexpected ['a', 'b']"),
    ],
)
def test_each_fault_is_named(change: Callable[[Path], object], fault: str, folder: Path) -> None:
    change(folder)
    assert fault in check_manifest(folder)
