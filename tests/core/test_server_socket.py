"""Sockets that servers listen on."""

from __future__ import annotations

import socket

import pytest

from cairn.core.errors import CairnError
from cairn.core.server_socket import listen


def test_data_is_sent_to_visitors_without_delay() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        visitor, _ = listening.accept()
        with visitor:
            assert visitor.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_port_in_use_raises_an_error() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CairnError, match=f"Cannot listen on 127.0.0.1 port {port}: Address already in use"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("host", ["198.51.100.1", "no.such.host.invalid"])
def test_a_host_of_another_machine_raises_an_error(host: str) -> None:
    with pytest.raises(CairnError, match=f"Cannot listen on {host} port 0"):
        listen(host, 0)
