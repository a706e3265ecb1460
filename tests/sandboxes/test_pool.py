"""Sessions that are leased again and again: nothing of one episode for the next, nothing left on the machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.base import Limits
from cairn.sandboxes.local.cgroups import _parents
from cairn.sandboxes.pool import SessionPool
from tests.sandboxes.usable import usable

EPISODES = 300
LITTER = """
import os, sys
for folder in (".", "/tmp", "/dev/shm"):
    open(os.path.join(folder, "left"), "w").close()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time
        time.sleep(600)
    os._exit(0)
print(sorted(name for folder in (".", "/tmp", "/dev/shm") for name in os.listdir(folder)))
print(sum(name.isdigit() for name in os.listdir("/proc")) < 6)
"""


def _left() -> dict[str, set[str]]:
    """Return the resources of this process on the machine: descriptors, children, mounts, control groups, folders."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {
        "descriptors": set(os.listdir("/proc/self/fd")),
        "children": {*children, *(pid for pid in os.listdir("/proc") if pid.isdigit() and _is_ours(pid))},
        "mounts": {line for line in Path("/proc/self/mounts").read_text().splitlines() if "cairn" in line},
        "groups": {str(path) for parent in _parents().values() for path in parent.glob(f"cairn-{os.getpid()}-*")},
        "folders": {
            name for name in os.listdir(tempfile.gettempdir()) if name.startswith(f"cairn-sandbox-{os.getpid()}-")
        },
    }


def _is_ours(pid: str) -> bool:
    try:
        return b"import supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes() and _parent(pid) == str(os.getpid())
    except OSError:
        return False


def _parent(pid: str) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]


@pytest.mark.rotating(3)
def test_nothing_is_left_after_many_episodes() -> None:
    pool = SessionPool(usable("bubblewrap"), Limits(wall_s=5), keep=2)
    before = _left()
    for episode in range(EPISODES):
        with pool.lease() as session:
            said = session.run_python(LITTER)
            assert said.stdout == b"['left', 'left', 'left']\nTrue\n", (episode, said)
    assert pool.discarded == 0
    pool.close()
    after = _left()
    assert {what: after[what] - before[what] for what in after} == {what: set() for what in after}


def test_a_pool_keeps_at_most_its_size_and_gives_warm_sessions_first() -> None:
    pool = SessionPool(usable("bubblewrap"), keep=2)
    pool.warm(5)
    first, second, third = pool.take(), pool.take(), pool.take()
    assert len({id(session) for session in (first, second, third)}) == 3
    for session in (first, second, third):
        pool.give_back(session)
    assert pool.take() in (first, second)  # the third was too many
    with pytest.raises(Exception, match="closed"):
        third.run(["true"])
    pool.close()


def test_idle_sessions_are_closed_and_others_start_when_they_are_needed() -> None:
    pool = SessionPool(usable("bubblewrap"))
    pool.warm(1)
    leased = pool.take()
    pool.warm(2)
    before = len(_left()["children"])
    pool.close_idle()
    assert len(_left()["children"]) < before
    assert leased.run(["true"]).is_ok
    pool.give_back(leased)
    with pool.lease() as again:
        assert again is leased
    pool.close()


def test_a_session_that_cannot_be_emptied_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SessionPool(usable("bubblewrap"))
    session = pool.take()

    def fail() -> None:
        raise SandboxFailure("something is left")

    monkeypatch.setattr(session, "reset", fail)
    pool.give_back(session)
    assert pool.discarded == 1
    with pool.lease() as other:
        assert other is not session
    pool.close()
