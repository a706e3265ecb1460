"""Measures the start and response times of sandboxes: `cairn bench sandbox`.

Warm means an existing session. A cell in its interpreter is compared with `exec` of the same source in this process.
The rows also include a fork, a fresh interpreter, and a container if a Docker engine answers.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
import subprocess
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any

from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.benchmarks.process import watched
from cairn.core.plugins import SANDBOXES
from cairn.sandboxes.base import Sandbox, Session
from cairn.sandboxes.interpreter import Interpreter
from cairn.sandboxes.registry import new_sandbox

_SOURCE = "total = sum(i * i for i in range(100))\nprint(total)"
_MOST_MS = 3.0  # over an exec in this process
# Times of a minimal hardened worker of each kind with a first program, measured manually before this implementation:
# dropped root, seccomp, control group; for Docker, the start of a hardened container.
_FLOORS_MS = {"bubblewrap": 60.0, "landlock": 74.0, "docker": 423.0}
_IMAGE = "cairn-sandbox-bench"


def run(*, quick: bool = False) -> Measurement:
    """Measure every kind that works on this machine, including the one without isolation."""
    times, image = 5 if quick else 30, _image()
    plain = _median_ms(_plainly, 200)
    rows = [row("sandbox: exec in this process", plain, "ms"), *_bare(times)]
    settings: dict[str, dict[str, Any]] = {
        "process": {"trusted": True},
        "docker": {"image": image} if image else {},
    }  # Any: settings
    for name in watched("sandbox: kinds", SANDBOXES.ids()):
        sandbox = new_sandbox(name, **settings.get(name, {}))
        if (problem := sandbox.problem()) is None:
            rows += _kind(sandbox, plain, times)
        elif name != "remote":  # its time depends on the server and the network
            rows.append(row(f"sandbox: {name}, not measured: {problem[:80]}", None, ""))
    return Measurement(rows=[*rows, *_containers(image, 3 if quick else 10)])


def _bare(times: int) -> Iterator[Row]:
    """Time the minimum of a start: an interpreter, alone and in a minimal bubblewrap sandbox."""
    python = ["/usr/bin/python3", "-I", "-S", "-c", _SOURCE]
    yield row("sandbox: a plain interpreter starts and ends", _median_ms(lambda: _quietly(python), times), "ms")
    if shutil.which("bwrap"):
        bare = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", *python]
        yield row("sandbox: the same in a bare bwrap", _median_ms(lambda: _quietly(bare), times), "ms")


def _plainly() -> None:
    with contextlib.redirect_stdout(None):
        timeit.Timer(_SOURCE, globals={}).timeit(1)  # compiles and executes it


def _kind(sandbox: Sandbox, plain: float, times: int) -> Iterator[Row]:
    name = f"sandbox: {sandbox.name}"

    def start() -> None:
        with sandbox.session() as session:
            session.run_python(_SOURCE)

    floor = _FLOORS_MS.get(sandbox.name)
    cold = _median_ms(start, times)
    bar = None if floor is None else f"<= {2 * floor:g}"
    yield row(
        f"{name}, cold start with a first program", cold, "ms", bar, None if floor is None else f"floor {floor:g}"
    )
    with sandbox.session() as session:
        interpreter = Interpreter(session)
        interpreter.run(_SOURCE)
        warm = _median_ms(lambda: interpreter.run(_SOURCE), 10 * times)
        yield row(f"{name}, run_python in a warm interpreter, over exec", warm - plain, "ms", f"< {_MOST_MS}", "exec")
        yield row(f"{name}, run_python in a fork", _median_ms(lambda: session.run_python(_SOURCE), 5 * times), "ms")
        fresh = _median_ms(lambda: session.run(["python3", "-c", _SOURCE]), times)
        yield row(f"{name}, a fresh interpreter in a warm session", fresh, "ms")
        yield row(f"{name}, emptying a session", _median_ms(session.reset, times), "ms")
    yield row(f"{name}, cells in 2 sessions at once", _rate(sandbox, 2, 1.0 if times < 10 else 4.0), "runs/s")


def _rate(sandbox: Sandbox, count: int, seconds: float) -> float:
    """Return the cells per second of `count` concurrent sessions in total."""
    done, until = [0] * count, time.monotonic() + seconds

    def work(place: int, session: Session) -> None:
        interpreter = Interpreter(session)
        while time.monotonic() < until:
            interpreter.run(_SOURCE)
            done[place] += 1

    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(sandbox.session()) for _ in range(count)]
        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum(done) / seconds


def _containers(image: str | None, times: int) -> Iterator[Row]:
    """Time a fresh `docker run` and a `docker exec` if an image with Python is available."""
    if image is None:
        yield row("sandbox: docker run and exec, not measured: no engine with an image that has Python", None, "")
        return
    command = ["docker", "run", "--rm", "--network", "none", image, "python3", "-c", _SOURCE]
    yield row("sandbox: docker run, a fresh container", _median_ms(lambda: _quietly(command), times), "ms")
    _quietly(["docker", "run", "-d", "--rm", "--network", "none", "--name", _IMAGE, image, "sleep", "600"])
    try:
        into = ["docker", "exec", _IMAGE, "python3", "-c", _SOURCE]
        yield row("sandbox: docker exec, in a warm container", _median_ms(lambda: _quietly(into), times), "ms")
    finally:
        _quietly(["docker", "rm", "-f", _IMAGE])


def _image() -> str | None:
    """Return an image with Python; None: no engine answers, or no such image exists."""
    if shutil.which("docker") is None:
        return None
    listed = subprocess.run(
        ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}"], capture_output=True, text=True, check=False
    )
    names = [name for name in listed.stdout.split() if "python" in name or "cairn" in name]
    return names[0] if listed.returncode == 0 and names else None


def _quietly(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _median_ms(what: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        what()
        found.append(time.perf_counter() - began)
    return statistics.median(found) * 1000
