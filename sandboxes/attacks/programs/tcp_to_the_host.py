"""TCP to the host: connect to a server on the host's loopback address."""
# open to: process

import socket
try:
    socket.create_connection(('127.0.0.1', TCP), 1).close()
    print('ESCAPED: connected')
except OSError:
    pass
