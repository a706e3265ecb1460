"""Files of a hostile work folder: paths that lead out, links, pipes and races; snapshots; emptying."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.sandboxes.base import FileRefused, Limits, Session
from cairn.sandboxes.inside import files
from tests.sandboxes.usable import SETTINGS, usable

# A folder that programs and the supervisor can write to, outside the work folder and inside the sandbox: a request that
# follows a link to it does damage that the test sees, and no damage to the machine.
MAKE_CANARY = """
import os, tempfile
canary = os.path.join(tempfile.gettempdir(), "canary")
os.mkdir(canary)
with open(os.path.join(canary, "passwd"), "w") as file:
    file.write("kept")
"""
READ_CANARY = """
import os, tempfile
canary = os.path.join(tempfile.gettempdir(), "canary")
print(os.listdir(canary), open(os.path.join(canary, "passwd")).read())
"""
OUTSIDE = ["/etc/passwd", "../x", "a/../../x", "", ".", "a//b", "a/./b", "a\0b", "a/"]


@pytest.fixture(scope="module", params=SETTINGS)
def shared(request: pytest.FixtureRequest) -> Iterator[Session]:
    with usable(request.param).session(Limits(file_bytes=1 << 20, disk_bytes=4 << 20, files=200)) as session:
        yield session


@pytest.fixture
def session(shared: Session) -> Session:
    shared.reset()
    return shared


def test_written_files_are_read_back(session: Session) -> None:
    every = bytes(range(256))
    session.write_file("a/b/c.bin", every, mode=0o755)
    session.write_file("a/text", "text \udce9\n")
    assert session.read_file("a/b/c.bin") == every
    assert session.read_file("a/text") == b"text \xe9\n"
    assert [(e.path, e.kind, e.size) for e in session.list_files()] == [
        ("a", "folder", 0), ("a/b", "folder", 0), ("a/b/c.bin", "file", 256), ("a/text", "file", 7),
    ]  # fmt: skip
    assert session.run(["stat", "-c", "%a %U", "a/b/c.bin"]).stdout.startswith(b"755 ")
    session.remove("a/b")
    assert [entry.path for entry in session.list_files()] == ["a", "a/text"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_that_lead_elsewhere_are_refused(session: Session, path: str) -> None:
    for request in (
        lambda: session.write_file(path, "x"),
        lambda: session.read_file(path),
        lambda: session.remove(path),
    ):
        with pytest.raises(FileRefused, match="expected a path below the work folder"):
            request()


def test_links_are_not_followed(session: Session) -> None:
    assert session.run_python(
        f"{MAKE_CANARY}os.symlink(canary + '/passwd', 'link'); os.symlink(canary, 'folder')"
    ).is_ok
    assert session.run(["sh", "-c", "echo kept > kept; ln -s kept near; ln kept hard; mkfifo pipe"]).is_ok
    for path in ("link", "folder/passwd", "near"):
        with pytest.raises(FileRefused, match="without following a link"):
            session.read_file(path)
    with pytest.raises(FileRefused, match="not a regular file"):
        session.read_file("pipe")  # and does not wait for somebody to write into it
    with pytest.raises(FileRefused, match="without following a link"):
        session.write_file("folder/x", "x")
    with pytest.raises(FileRefused, match="without following a link"):
        session.remove("folder/passwd")
    session.write_file("hard", "new")
    session.write_file("link", "new")
    session.write_file("pipe", "new")
    assert session.read_file("kept") == b"kept\n"  # the target of the hard link is unchanged
    assert session.read_file("link") == b"new"
    session.remove("folder")
    assert [entry.path for entry in session.list_files()] == ["hard", "kept", "link", "near", "pipe"]
    assert session.run_python(READ_CANARY).output == "['passwd'] kept\n"


def test_files_beyond_the_limits_are_rejected(session: Session) -> None:
    with pytest.raises(FileRefused, match="a file may have 1048576"):
        session.write_file("big", bytes((1 << 20) + 1))
    session.write_file("a", bytes(1000))
    with pytest.raises(FileRefused, match="1000 bytes; the limit is 999"):
        session.read_file("a", max_bytes=999)
    with pytest.raises(FileRefused, match="No such file"):
        session.read_file("b")
    session.write_file("c/d", "x")
    with pytest.raises(FileRefused, match="a folder is there"):
        session.write_file("c", "x")
    session.run(["sh", "-c", "for i in $(seq 190); do : > $i; done"])
    for i in range(20):
        session.write_file(f"more-{i}", "")
    with pytest.raises(FileRefused, match="more than 200 files"):
        session.list_files()


def test_a_snapshot_goes_into_any_session(session: Session) -> None:
    script = "mkdir -p a/empty; printf x > a/f; chmod 755 a/f; ln -s f a/link; mkfifo a/pipe; printf yy > g; : > zero"
    assert session.run(["sh", "-c", script]).is_ok
    whole = session.snapshot()
    session.remove("a/pipe")
    before = session.digest()
    session.run(["sh", "-c", "rm -rf a; echo changed > g; echo more > more"])
    assert session.digest() != before
    session.restore(whole)
    assert session.digest() == before
    assert session.run(["sh", "-c", "readlink a/link; stat -c %a a/f; cat g"]).output == "f\n755\nyy"
    with usable("process").session() as other:
        other.restore(whole)
        assert other.digest() == before


def test_the_digest_sees_contents_names_and_modes_and_not_times(session: Session) -> None:
    session.write_file("a", "x")
    first = session.digest()
    session.run(["touch", "-d", "2001-01-01", "a"])
    assert session.digest() == first
    seen = {first}
    for change in ("printf y > a", "mv a b", "chmod +x b", "mkdir c", "ln -s b c/d", "ln -sf a c/d"):
        session.run(["sh", "-c", change])
        seen.add(session.digest())
    assert len(seen) == 7


def test_a_race_against_links_is_not_won(tmp_path: Path) -> None:
    """A folder is swapped for a link all the time while files are written, read and removed through it."""
    work, canary = tmp_path / "work", tmp_path / "canary"
    for folder in (work, work / "d", canary):
        folder.mkdir()
    (canary / "passwd").write_text("kept")
    ended = threading.Event()

    def swap() -> None:
        d, e = work / "d", work / "e"
        steps = (lambda: d.rename(e), lambda: d.symlink_to(canary), d.unlink, lambda: e.rename(d))
        while not ended.is_set():
            for step in steps:
                with contextlib.suppress(OSError):  # a request has made `d` meanwhile; another will empty it
                    step()

    swapping = threading.Thread(target=swap)
    swapping.start()
    refused, until = 0, time.monotonic() + 30
    for number in itertools.count():
        if (number >= 300 and refused) or time.monotonic() > until:
            break
        for request in (
            lambda: files.write(str(work), "d/passwd", b"mine", 0o644),
            lambda: files.read(str(work), "d/passwd", 1000),
            lambda: files.remove(str(work), "d/passwd"),
        ):
            try:
                found = request()
            except (files.Refused, OSError) as error:  # both are refusals to the supervisor
                refused += "without following a link" in str(error)
                continue
            assert found in (None, b"mine")
    ended.set()
    swapping.join()
    assert refused  # the link was there when a request came
    assert [path.name for path in canary.iterdir()] == ["passwd"]
    assert (canary / "passwd").read_text() == "kept"


def test_folders_without_a_bottom_or_without_rights_are_emptied(tmp_path: Path) -> None:
    deep = tmp_path / "work"
    deep.mkdir()

    def dig() -> None:
        import os

        here = os.open(deep, os.O_RDONLY)
        for _ in range(2000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)

    thread = threading.Thread(target=dig)  # a descriptor of its own, no change of this process's folder
    thread.start()
    thread.join()
    closed = deep / "closed" / "inner"
    closed.mkdir(parents=True)
    (closed / ".moved-1").write_text("a name that emptying uses")
    closed.chmod(0)
    closed.parent.chmod(0)
    files.wipe(str(deep))
    assert list(deep.iterdir()) == []


def test_a_listing_of_folders_that_are_too_deep_is_refused(tmp_path: Path) -> None:
    deepest = tmp_path / "/".join(["d"] * files.MAX_DEPTH)
    deepest.mkdir(parents=True)
    assert len(files.entries(str(tmp_path), 1000)) == files.MAX_DEPTH
    (deepest / "d").mkdir()
    with pytest.raises(files.Refused, match="more than 256 levels deep"):
        files.entries(str(tmp_path), 1000)
    with pytest.raises(files.Refused, match="more than 256 levels deep"):
        files.digest(str(tmp_path), 1000, 1 << 20)


def test_a_hash_of_sparse_files_is_refused_beyond_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1000)
    files.digest(str(tmp_path), 10, 1000)
    with pytest.raises(files.Refused, match="files of 1000 bytes; the limit is 999"):
        files.digest(str(tmp_path), 10, 999)
