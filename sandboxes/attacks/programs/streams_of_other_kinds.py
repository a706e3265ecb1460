"""Streams of other kinds: have the kernel load protocols that few use and many faults were found in."""
# open to: process

import socket
for family, kind, protocol in ((2, 1, 132), (2, 1, 262), (2, 1, 33), (10, 1, 0), (40, 1, 0), (30, 1, 0), (38, 5, 0)):
    try:
        socket.socket(family, kind, protocol)
        print('ESCAPED:', family, protocol)
    except OSError:
        pass
