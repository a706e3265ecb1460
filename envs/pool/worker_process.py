"""The parent's side of one worker process: start it, call it within limits, kill it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium

from cairn.core import errors
from cairn.core.config import Config
from cairn.envs.base import EnvMeta
from cairn.envs.pool import wire
from cairn.envs.pool.host import Failure


class WorkerLimits(Config):
    """What one environment may use."""

    seconds_per_call: float | None = None
    """Longest wait for an answer to one call; None: what the environment declares (`EnvMeta.call_timeout_s`)."""
    seconds_to_start: float = 120.0
    """Longest wait for a worker process to build its environment."""
    memory_bytes: int = 4 << 30
    """Most memory that a worker process may allocate (RLIMIT_DATA of that process; of its children, each)."""
    max_message_bytes: int = 16 << 20
    """Longest answer to one call."""


class WorkerProcess:
    """One environment in a process and a process group of its own."""

    def __init__(
        self, address: str, config: Mapping[str, Any], limits: WorkerLimits, environ: Mapping[str, str]
    ) -> None:
        self._limits = limits
        self._socket, theirs = socket.socketpair()
        path = os.pathsep.join(part for part in sys.path if part)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cairn.envs.pool.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **environ},
        )
        theirs.close()
        self._asked = self._answered = 0  # numbers of the last request sent and of the last answer read
        hello = self._open(address, config)
        self.meta = _meta(hello["meta"])
        self.turn_limit = int(hello["turn_limit"])

    def call(self, operation: str, timeout_s: float | None = None, **arguments: Any) -> Any:  # Any: JSON
        """Return the answer to one request.

        Raises:
            CairnError: the request was wrong; the worker is well.
            gymnasium.error.ResetNeeded: the episode is over; the worker is well.
            Failure: the worker is not to be used again.
        """
        answer = self._exchange(
            {"do": operation, **arguments}, timeout_s or self._limits.seconds_per_call or self.meta.call_timeout_s
        )
        if "value" in answer:
            return answer["value"]
        raise _error(str(answer.get("error")), str(answer.get("message")))

    def kill(self) -> None:
        """End the process and all that it started, and reap it."""
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _open(self, address: str, config: Mapping[str, Any]) -> dict[str, Any]:
        try:
            hello: dict[str, Any] = self.call(
                "open",
                self._limits.seconds_to_start,
                address=address,
                config=dict(config),
                memory_bytes=self._limits.memory_bytes,
            )
        except BaseException:  # interrupts too: a worker must not outlive a failed start; raised again
            self.kill()
            raise
        return hello

    def _exchange(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request and return its answer.

        After a call that an exception from outside interrupted, such as KeyboardInterrupt, the worker is not used
        again: the next answer would be the one to that call.
        """
        if self._asked != self._answered:
            raise Failure("interrupted", f"the call before {request['do']!r} was interrupted; take another environment")
        self._asked += 1
        try:
            self._socket.settimeout(timeout_s)
            wire.send(self._socket, {**request, "request_id": self._asked})
            answer = wire.receive(self._socket, self._limits.max_message_bytes, timeout_s)
        except TimeoutError:
            raise Failure("hung", f"no answer to {request['do']!r} in {timeout_s:g} s") from None
        except wire.WireError as error:
            cause = "garbage" if self._still_runs() else "died"
            raise Failure(cause, f"in {request['do']!r}: {error}; exit status {self.process.poll()}") from None
        except OSError as error:
            raise Failure("died", f"in {request['do']!r}: {error}") from None
        if answer.get("request_id") != self._asked:
            raise Failure("garbage", f"in {request['do']!r}: an answer to request {answer.get('request_id')!r:.40}")
        self._answered = self._asked
        return answer

    def _still_runs(self) -> bool:
        """Whether the process runs; one that just closed its socket gets a moment to end."""
        try:
            self.process.wait(0.2)
        except subprocess.TimeoutExpired:
            return True
        return False


def _meta(fields: dict[str, Any]) -> EnvMeta:  # Any: JSON
    made: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in fields.items()}
    return EnvMeta(**made)


def _error(kind: str, message: str) -> Exception:
    """Return the exception that a worker's answer stands for."""
    if kind == "ResetNeeded":
        return gymnasium.error.ResetNeeded(message)
    if kind in ("raised", "memory", "garbage", "sandbox", "reward"):
        return Failure(kind, message)
    known = {cls.__name__: cls for cls in (errors.ConfigError, errors.MissingDataError)}
    return known.get(kind, errors.CairnError)(message)
