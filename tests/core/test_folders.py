"""One process writes a folder at a time; the lock of a process that was killed holds nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.core.errors import CairnError
from cairn.core.folders import is_written, new_folder, writing_to

HOLDER = """
import sys
from pathlib import Path
from cairn.core.folders import writing_to

with writing_to(Path(sys.argv[1]), "a run"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_folders_of_equal_names_get_numbers(tmp_path: Path) -> None:
    made = [new_folder(tmp_path / "runs" / "run", "a run") for _ in range(3)]
    assert [folder.name for folder in made] == ["run", "run-2", "run-3"]
    assert all(folder.is_dir() for folder in made)
    (tmp_path / "file").touch()
    with pytest.raises(CairnError, match=r"Cannot write a run to .*file/run': Not a directory"):
        new_folder(tmp_path / "file" / "run", "a run")


def test_a_second_writer_is_refused_with_the_process_and_machine_of_the_first(tmp_path: Path) -> None:
    process = holder(tmp_path / "run")
    try:
        message = f"is being written by process {process.pid} on {socket.gethostname()}; wait for it"
        with pytest.raises(CairnError, match=message), writing_to(tmp_path / "run", "a run"):
            pytest.fail("two writers")
    finally:
        process.kill()
        process.communicate()


def test_the_lock_of_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with writing_to(tmp_path, "a run"):
        assert (tmp_path / ".lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"


def test_a_folder_is_free_again_at_the_end(tmp_path: Path) -> None:
    for _ in range(2):
        with writing_to(tmp_path, "a run"):
            pass


def test_a_folder_that_cannot_be_made_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = r"Cannot write a run to .*Name another place: --folder"
    with pytest.raises(CairnError, match=message), writing_to(tmp_path / "file" / "run", "a run"):
        pytest.fail("written below a file")


def test_a_folder_is_written_while_the_process_that_holds_it_runs(tmp_path: Path) -> None:
    assert is_written(tmp_path) is False
    process = holder(tmp_path)
    assert is_written(tmp_path) is True
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert is_written(tmp_path) is False
    with writing_to(tmp_path, "a run"):
        assert is_written(tmp_path) is True
    assert is_written(tmp_path) is False
    (tmp_path / ".lock").write_text("process 1 on some-other-machine\n")
    assert is_written(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["", "\n", "process 0 on x\n", "process -1 on x\n", "\udcff", "process 9 on \n", "a" * 999]
)
def test_a_damaged_lock_file_names_no_process(text: str, tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text(text, errors="surrogateescape")
    assert is_written(tmp_path) is False
