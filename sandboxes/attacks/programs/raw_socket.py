"""Raw socket: forge packets."""
# open to: process

import socket
for family, kind, protocol in ((2, 3, 1), (17, 3, 768), (16, 3, 0)):
    try:
        socket.socket(family, kind, protocol)
        print('ESCAPED:', family)
    except OSError:
        pass
