"""Forks of a process with sandboxes: each process has sessions of its own, and neither ends those of the other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from cairn.core.errors import CairnError
from cairn.envs.sandbox_lease import LeasedSession
from cairn.sandboxes.base import Limits
from cairn.sandboxes.pool import SessionPool
from tests.sandboxes.usable import SETTINGS, usable

LIMITS = Limits(wall_s=5)


def in_fork(work: Callable[[], Any]) -> Any:  # Any: JSON
    """Return the result of a function in a fork of this process."""
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        try:
            answer: Any = work()
        except BaseException as error:  # noqa: BLE001  (sent to the parent, where the test fails)
            answer = repr(error)
        os.write(writable, json.dumps(answer).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        reported = pipe.read()
    os.waitpid(child, 0)
    return json.loads(reported)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_fork_cannot_use_or_end_a_session_of_its_parent(name: str) -> None:
    with usable(name).session(LIMITS) as session:
        session.write_file("note", "kept")

        def child() -> str:
            try:
                session.run_python("print(1)")
            except CairnError as error:
                return str(error)
            finally:
                session.close()
            return ""

        assert "belongs to the process that this one is a fork of" in in_fork(child)
        assert session.read_file("note") == b"kept"


def test_a_pool_gives_a_fork_sessions_of_its_own() -> None:
    pool = SessionPool(usable("bubblewrap"), LIMITS)
    pool.warm(1)
    try:

        def child() -> str:
            with pool.lease() as session:
                reported = session.run_python("print('child')").stdout.decode()
            pool.close()
            return reported

        assert in_fork(child) == "child\n"
        with pool.lease() as session:
            assert session.run_python("print('parent')").stdout == b"parent\n"
        assert pool.discarded == 0
    finally:
        pool.close()


def test_an_environments_session_is_replaced_in_a_fork() -> None:
    usable("bubblewrap")
    leased = LeasedSession("bubblewrap", {}, LIMITS)
    leased.emptied().write_file("note", "kept")
    try:

        def child() -> str:
            session = leased.emptied()
            reported = session.run_python("import os; print(os.listdir())").stdout.decode()
            session.close()
            return reported

        assert in_fork(child) == "[]\n"
        assert leased.session is not None
        assert leased.session.read_file("note") == b"kept"
    finally:
        leased.close()


def test_a_session_ends_by_itself_while_a_fork_lives() -> None:
    """The fork holds no copy of its socket, for whose end the supervisor waits."""
    session = usable("bubblewrap").session(LIMITS)
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        os.read(readable, 1)
        os._exit(0)
    session.close()
    os.write(writable, b"x")
    os.waitpid(child, 0)
    os.close(readable)
    os.close(writable)
    assert session._place._process.returncode == 0  # type: ignore[attr-defined]  # of a local place
