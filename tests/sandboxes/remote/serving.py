"""Real servers of sandboxes for tests: the command, in a process of its own, on a free port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx

from cairn.sandboxes.base import Limits
from cairn.sandboxes.kinds.remote import Remote, RemoteConfig

TOKEN = "a-token-that-only-tests-know"
_END_S = 30
_HTTP = httpx.Client(timeout=_END_S, limits=httpx.Limits(max_keepalive_connections=0))
_PROTECTED = "from tests.safety import protect; protect(); from cairn.cli.main import app; app()"
COMMAND = [sys.executable, "-c", _PROTECTED, "sandbox", "serve"]


@dataclass
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str

    def remote(self, **settings: Any) -> Remote:  # Any: of `RemoteConfig`
        """Return a client's sandbox."""
        return Remote(RemoteConfig(**{"url": self.url, "token": TOKEN, "retry_s": 0.0, **settings}))

    def post(self, path: str, body: bytes, token: str = TOKEN, method: str = "POST") -> httpx.Response:
        """Send a request that our clients would not send."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return _HTTP.request(method, self.url + path, content=body, headers=headers)

    def opened(self, **limits: Any) -> str:  # Any: of `Limits`
        """Open a session and return its path."""
        answer = self.post("/sessions", Limits(**limits).model_dump_json().encode())
        assert answer.status_code == 201, answer.text
        return f"/sessions/{answer.json()['id']}"

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to end; return the exit status and its error output."""
        self.process.send_signal(number)
        _, complaints = self.process.communicate(timeout=_END_S)
        return self.process.returncode, complaints


@contextmanager
def server(folder: Path, *options: str, kind: str = "bubblewrap", port: int = 0) -> Iterator[Server]:
    """Start a server; it has ended when this ends."""
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    command = [*COMMAND, "--kind", kind, "--port", str(port), "--token-file", str(token), "--json", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(process.communicate()[1])
            yield Server(process, json.loads(line)["url"])
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=_END_S)
