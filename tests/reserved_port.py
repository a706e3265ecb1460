"""A port that no other process gets while the server that will listen on it is not running yet, or not any more."""

from __future__ import annotations

import socket


def reserve_port() -> socket.socket:
    """Return a socket that holds a free port on loopback; connections are refused until a server listens there.

    It is bound and does not listen. Linux gives its port to no socket that asks for any free port, but lets a server
    bind it explicitly: both have SO_REUSEADDR, which asyncio and `socket.create_server` set.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder
