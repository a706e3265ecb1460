"""UDP to the host: send a datagram to the host's loopback address."""
# open to: process

import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'bait', ('127.0.0.1', UDP))
except OSError:
    pass
