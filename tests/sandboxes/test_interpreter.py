"""An interpreter that calls the host: the cost of its calls, and their limits."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cairn.sandboxes import interpreter
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.interpreter import Interpreter
from tests.sandboxes.usable import usable


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with usable("bubblewrap").session(Limits(wall_s=5.0, output_bytes=1 << 14)) as found:
        yield found


class Clock:
    """A clock that advances only on request."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_that_the_host_takes_to_answer_does_not_count(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(interpreter, "time", clock)

    def slow(name: str, arguments: object) -> str:
        clock.now += 1000.0
        return name

    cell = Interpreter(session, on_call=slow).run("print(_cairn_call('x', {}))\nfor _ in range(10**6):\n    pass")
    assert (cell.stdout, cell.limit, cell.error) == (b"x\n", None, None)


def test_a_cell_that_prints_on_and_on_between_calls_is_ended(session: Session) -> None:
    calls = []

    def heard(name: str, arguments: object) -> None:
        calls.append(name)

    of = Interpreter(session, on_call=heard)
    cell = of.run("while True:\n    print('x' * 1000)\n    _cairn_call('y', {})")
    assert cell.limit == "output"
    assert len(calls) == 16  # 16 x 1001 bytes fit into 2**14, and 17 do not
    assert len(cell.stdout) == 17 * 1001
    assert of.run("1").is_fresh


def test_a_cell_that_calls_without_end_is_ended_at_its_time_limit(session: Session) -> None:
    """Each of its turns is shorter than any time limit."""
    of = Interpreter(session, on_call=lambda name, arguments: name)
    began = time.monotonic()
    cell = of.run("while True:\n    _cairn_call('y', {})", wall_s=0.2)
    assert cell.limit == "wall"
    assert 0.2 <= time.monotonic() - began < 60
    assert of.run("1").is_fresh


@pytest.mark.parametrize("name", ["7", "None", "['x']", "{'x': 1}"])
def test_a_call_of_no_name_is_refused(session: Session, name: str) -> None:
    cell = Interpreter(session, on_call=lambda name, arguments: "heard").run(f"print(_cairn_call({name}, {{}}))")
    assert b"there is nobody to call" in cell.stderr
    assert cell.stdout == b""
