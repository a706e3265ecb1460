"""Opens the sockets that our servers listen on; who may reach them is for each server to say."""

from __future__ import annotations

import os
import socket

from cairn.core.errors import CairnError


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; `port`: 0 for any free one.

    Raises:
        CairnError: the port is in use, or the host is none of this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CairnError(
            f"Cannot listen on {host} port {port}: {why}. Choose another port; 0 is any free one."
        ) from error
    # Connections inherit it. Asyncio sets it on sockets that are said to be TCP only, and `create_server` does not say;
    # without it an answer in two parts takes 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
