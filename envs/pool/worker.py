"""A worker process for one environment: answers requests from a socket until it closes.

Run by `envs.pool.worker_process` as ``python -m cairn.envs.pool.worker FD``. Standard output belongs to the
environment, not to the protocol. The process limits its own memory and ends with its parent, even during a call.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import threading
import time
from dataclasses import asdict
from typing import Any

import gymnasium

from cairn.core.errors import CairnError
from cairn.envs.pool import wire
from cairn.envs.pool.host import EnvHost, Failure

_MAX_REQUEST = 1 << 28


def serve(sock: socket.socket) -> None:
    """Answer requests until the connection closes; the first request opens the environment."""
    worlds: list[EnvHost] = []
    while True:
        try:
            request = wire.receive(sock, _MAX_REQUEST, None)
        except (wire.WireError, OSError):
            return
        request_id = request.pop("request_id")
        answer = _answer(worlds, request)
        try:
            _send(sock, {**answer, "request_id": request_id})
        except OSError:  # the parent has closed the connection
            return


def _send(sock: socket.socket, answer: dict[str, Any]) -> None:
    try:
        wire.send(sock, answer)
    except (TypeError, ValueError, RecursionError) as error:
        garbage = {"error": "garbage", "message": f"the answer is not JSON: {error}"}
        wire.send(sock, {**garbage, "request_id": answer["request_id"]})


def _answer(worlds: list[EnvHost], request: dict[str, Any]) -> dict[str, Any]:
    operation = request.pop("do")
    try:
        return {"value": worlds[0].call(operation, **request) if worlds else _open(worlds, **request)}
    except gymnasium.error.ResetNeeded as error:
        return {"error": "ResetNeeded", "message": str(error)}
    except CairnError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except Failure as failure:
        return {"error": failure.cause, "message": str(failure)}
    except KeyboardInterrupt:
        return {"error": "raised", "message": f"KeyboardInterrupt (in {operation}())"}


def _open(worlds: list[EnvHost], address: str, config: dict[str, Any], memory_bytes: int) -> dict[str, Any]:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    worlds.append(EnvHost(address, config))
    return {"meta": asdict(worlds[0].meta), "turn_limit": worlds[0].turn_limit}


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    """Serve on the socket whose file descriptor is the first argument.

    The worker ignores Ctrl-C: the parent process handles it and ends the worker.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    os.dup2(2, 1)
    serve(sock)


if __name__ == "__main__":
    main()
