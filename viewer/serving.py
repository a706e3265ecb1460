"""Serves the viewer until Ctrl-C.

On loopback any user of this machine can view the pages. Elsewhere a token is needed, and generated if none is given.
The traffic is not encrypted, so a tunnel (``ssh -L``) is the better way to view pages from another machine.
"""

from __future__ import annotations

import gc
import os
import re
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from cairn.core.errors import CairnError
from cairn.core.server_socket import listen
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs
from cairn.viewer.security import is_loopback


def serve(
    paths: Sequence[Path],
    *,
    host: str,
    port: int,
    token: str,
    announce: Callable[[str, int], None],
    opens_browser: bool,
) -> None:
    """Serve the runs at these paths until interrupted.

    Args:
        paths: folders of runs, or folders that hold such folders.
        host: an address or a name of this machine.
        port: the port to listen on; 0: any free one.
        token: the token that visitors must show; "": none on loopback, elsewhere a new one.
        announce: called with the URL and the number of runs once the server listens.
        opens_browser: open the URL in this machine's browser, if it has a desktop.

    Raises:
        CairnError: no run was found, the port is in use, or the token has characters other than letters, digits, - and
            _.
    """
    import uvicorn

    if not re.fullmatch(r"[A-Za-z0-9_-]*", token):
        raise CairnError("--token may have letters, digits, - and _ alone")
    token = token or ("" if is_loopback(host) else secrets.token_urlsafe(24))
    runs = find_runs(paths)
    with listen(host, port) as listening:
        app = make_app(runs, host=host, token=token or None)
        server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="warning", access_log=False, lifespan="off", ws="none", proxy_headers=False,
                server_header=False, timeout_graceful_shutdown=2,
            )
        )  # fmt: skip
        gc.freeze()  # excludes imported modules from garbage collection, which pages of many episodes trigger often
        url = _address(host, listening.getsockname()[1], token)
        announce(url, len(runs))
        if opens_browser and _has_desktop():
            webbrowser.open(url)
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            return  # Ctrl-C ends the server; whether it arrives here depends on the event loop


def _address(host: str, port: int, token: str) -> str:
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def _has_desktop() -> bool:
    """Return whether this session has a display for a browser; an SSH session has none."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
