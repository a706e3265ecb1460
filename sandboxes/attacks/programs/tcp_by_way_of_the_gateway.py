"""TCP by way of the gateway: have it connect to a server on the host's loopback address, whatever that is called."""
# open to: process

import socket
NAMES = ('127.0.0.1', 'localhost', 'LOCALHOST', 'localhost.', '127.1', '0x7f000001', '2130706433', '0', '0.0.0.0',
         '[::1]', '[::ffff:127.0.0.1]', '[::]', '127.0.0.1.nip.io', 'allowed@127.0.0.1')
for name in NAMES:
    for line in (f'CONNECT {name}:{TCP}', f'GET http://{name}:{TCP}/'):
        try:
            with socket.create_connection(('127.0.0.1', 3128), 1) as way:
                way.settimeout(1)
                way.sendall(f'{line} HTTP/1.1\r\nHost: {name}\r\n\r\n'.encode())
                if way.recv(64).split()[1:2] == [b'200']:
                    print('ESCAPED:', line)
        except OSError:
            pass
