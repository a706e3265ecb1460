"""Folders of sessions whose process was killed are removed at the next start; those in use are left alone."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.sandboxes.local import folder_place
from cairn.sandboxes.local.folder_place import FolderPlace
from tests.sandboxes.usable import usable

OPENS = """
import os, sys
from cairn.sandboxes.registry import new_sandbox
session = new_sandbox("landlock").session()
session.run_python(sys.argv[1])
print(session._place._folder, session._place._place._process.pid, flush=True)
sys.stdin.read()
"""
HOSTILE = """
import os
os.symlink(CANARY, os.environ["HOME"] + "/link")
os.symlink(CANARY + "/file", os.environ["HOME"] + "/link-to-file")
os.mkdir(os.environ["HOME"] + "/closed")
open(os.environ["HOME"] + "/closed/file", "w").close()
os.chmod(os.environ["HOME"] + "/closed", 0)
for _ in range(300):  # last: a program that makes folders so deep is killed
    os.mkdir("d")
    os.chdir("d")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder for temporary files that no other session uses, where users of sessions can reach theirs."""
    usable("landlock")
    with tempfile.TemporaryDirectory(prefix="cairn-left-over-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(name)
    monkeypatch.setattr(tempfile, "tempdir", None)


def killed_session(canary: Path) -> Path:
    """Open a session in another process, kill that and the supervisor, and return the session's folder.

    `canary`: a folder that the session leaves links to.
    """
    command = [sys.executable, "-c", OPENS, f"CANARY = {str(canary)!r}{HOSTILE}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        place, supervisor = process.stdout.readline().split()
        os.kill(int(supervisor), 9)  # it would empty the folders itself
        process.kill()
    return Path(place)


def test_the_folder_of_a_killed_process_is_removed_at_the_next_start(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    left = killed_session(tmp_path)
    assert (left / "work" / "d").exists()
    assert (left / "work" / "link" / "file").exists()
    with usable("landlock").session() as session:
        assert not left.exists()
        assert [path.name for path in folder.iterdir()] == [_folder_of(session._place).name]
        session.run(["touch", "kept"])
        with usable("landlock").session():  # starts beside one that is in use
            assert [entry.path for entry in session.list_files()] == ["kept"]
    assert list(folder.iterdir()) == []
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_without_a_lock_that_is_a_link_or_another_users_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").touch()
    (folder / "cairn-sandbox-1-link").symlink_to(tmp_path)
    names = ["cairn-sandbox-1-link"]
    if os.geteuid() == 0:
        (folder / "cairn-sandbox-1-other").mkdir()
        os.chown(folder / "cairn-sandbox-1-other", 1234, 1234)
        names.append("cairn-sandbox-1-other")
    folder_place.remove_left_over()
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (tmp_path / "work" / "file").exists()


def test_a_folder_in_the_making_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, calls = fcntl.flock, list[int]()

    def late(descriptor: int, operation: int) -> None:
        calls.append(operation)
        if len(calls) == 1:
            folder_place.remove_left_over()  # another process, between making the folder and locking it
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    path, lock = folder_place._locked_folder()
    assert path.parent == folder
    assert path.is_dir()
    os.close(lock)


def _folder_of(place: object) -> Path:
    assert isinstance(place, FolderPlace)
    return place._folder
