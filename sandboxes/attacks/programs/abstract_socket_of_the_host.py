"""Abstract socket of the host: reach a server by a name that lies in no folder."""
# open to: process

import socket
try:
    socket.socket(socket.AF_UNIX).connect(chr(0) + ABSTRACT)
    print('ESCAPED: connected')
except OSError:
    pass
