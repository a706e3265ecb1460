"""Kill the host: signal the process that started the sandbox."""
# open to: process

import os
try:
    os.kill(PID, 0)
    print('ESCAPED: it could')
except OSError:
    pass
