"""Runs in read-only folders are read; the content of a write-ahead log is not left out silently."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from tests.viewer.stored import make_run

NOBODY = 65534


def as_ordinary_user(work: Callable[[], str]) -> str:
    """Return the text that `work` returns in a process without root's rights, or its CairnError."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            text = work()
        except CairnError as error:
            text = f"CairnError: {error}"
        except BaseException as error:  # noqa: BLE001  (the child must not continue as a second test run)
            text = f"{type(error).__name__}: {error}"
        os.write(writer, text.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a run that nobody can write, in folders that anybody can enter."""
    run = make_run(tmp_path / "run")
    for path in (tmp_path, *tmp_path.parents):
        if os.stat(path).st_uid == os.getuid() and path != Path("/"):
            os.chmod(path, os.stat(path).st_mode | 0o055)
    return run


def sealed(run: Path) -> Path:
    for path in run.iterdir():
        path.chmod(0o444)
    run.chmod(0o555)
    return run


def count(run: Path) -> str:
    with RunStore.read(run) as store:
        return str(store.rows("SELECT count(*) FROM episodes")[0][0])


def test_a_run_in_a_read_only_folder_is_read(folder: Path) -> None:
    sealed(folder)
    assert as_ordinary_user(lambda: count(folder)) == "2"
    assert sorted(path.name for path in folder.iterdir()) == ["run.sqlite"]  # nothing was written beside it


def test_writes_that_only_the_log_holds_are_not_left_out_silently(folder: Path) -> None:
    with RunStore(folder / "run.sqlite") as store:
        store.event(1, "note", "in the log")
        sealed(folder)
        text = as_ordinary_user(lambda: count(folder))
        folder.chmod(0o755)
    assert "its last writes are in run.sqlite-wal. Copy the folder" in text


def test_a_read_only_store_refuses_writes(folder: Path) -> None:
    def write() -> str:
        with RunStore.read(folder) as store:
            store.event(1, "note", "no")
        return "written"

    sealed(folder)
    assert "Cannot write to run store" in as_ordinary_user(write)
