"""Trace the parent: take over the supervisor with ptrace."""
# open to: process

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import os
if libc.ptrace(16, os.getppid(), 0, 0) == 0:
    print('ESCAPED: attached')
