"""The parent's side of one worker process: start, calls within limits, kill."""

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
    """Limits of one environment in a worker process."""

    seconds_per_call: float | None = None
    """Longest wait for an answer to one call; None: the environment's `EnvMeta.call_timeout_s`."""
    seconds_to_start: float = 120.0
    """Longest wait for a worker process to build its environment."""
    memory_bytes: int = 4 << 30
    """Most memory that a worker process may allocate (RLIMIT_DATA of that process; of its children, each)."""
    max_message_bytes: int = 16 << 20
    """Longest answer to one call."""


class WorkerProcess:
    """One environment in its own process and process group."""

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
        self._asked = self._answered = 0  # number of the last request and of the last answer
        hello = self._open(address, config)
        self.meta = _meta(hello["meta"])
        self.turn_limit = int(hello["turn_limit"])

    def call(self, operation: str, timeout_s: float | None = None, **arguments: Any) -> Any:  # Any: JSON
        """Return the answer to one request.

        Raises:
            CairnError: the request was invalid; the worker is intact.
            gymnasium.error.ResetNeeded: the episode is over; the worker is intact.
            Failure: the worker must not be used again.
        """
        answer = self._exchange(
            {"do": operation, **arguments}, timeout_s or self._limits.seconds_per_call or self.meta.call_timeout_s
        )
        if "value" in answer:
            return answer["value"]
        raise _error(str(answer.get("error")), str(answer.get("message")))

    def kill(self) -> None:
        """Kill the process group, and reap the process."""
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):  # it has already ended
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
        except BaseException:  # including interrupts: a worker must not outlive a failed start; raised again
            self.kill()
            raise
        return hello

    def _exchange(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request and return its answer.

        If an external exception, such as KeyboardInterrupt, interrupted a call, the worker must not be used again: the
        next answer would belong to that call.
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
        """Return whether the process runs; a process that closed its socket gets 0.2 s to end."""
        try:
            self.process.wait(0.2)
        except subprocess.TimeoutExpired:
            return True
        return False


def _meta(fields: dict[str, Any]) -> EnvMeta:  # Any: JSON
    made: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in fields.items()}
    return EnvMeta(**made)


def _error(kind: str, message: str) -> Exception:
    """Return the exception for a worker's error answer."""
    if kind == "ResetNeeded":
        return gymnasium.error.ResetNeeded(message)
    if kind in ("raised", "memory", "garbage", "sandbox", "reward"):
        return Failure(kind, message)
    known = {cls.__name__: cls for cls in (errors.ConfigError, errors.MissingDataError)}
    return known.get(kind, errors.CairnError)(message)
