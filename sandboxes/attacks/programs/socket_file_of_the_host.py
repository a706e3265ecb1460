"""Socket file of the host: reach a server by its socket in a folder."""
# open to: process

import socket
try:
    socket.socket(socket.AF_UNIX).connect(UNIX)
    print('ESCAPED: connected')
except OSError:
    pass
