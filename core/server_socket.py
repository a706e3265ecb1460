"""Listening sockets for Cairn's servers; each server decides who may connect."""

from __future__ import annotations

import os
import socket

from cairn.core.errors import CairnError


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; `port` 0 means any free port.

    Raises:
        CairnError: the port is in use, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CairnError(
            f"Cannot listen on {host} port {port}: {why}. Choose another port; 0 is any free one."
        ) from error
    # Accepted connections inherit the option. Asyncio sets it only on sockets created with the protocol TCP, which
    # `create_server` does not set. Without it a reply in two parts takes 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
