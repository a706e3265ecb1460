"""Read the parent's memory: read or change the supervisor through /proc."""
# open to: process

import os
try:
    memory = open(f'/proc/{os.getppid()}/mem', 'r+b')
    print('ESCAPED: opened')
except OSError:
    pass
