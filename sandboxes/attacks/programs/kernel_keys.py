"""Kernel keys: read or leave keys in the kernel's keyring."""
# open to: process

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(248, b'user', b'k', b'v', 1, -4) >= 0 or libc.syscall(250, 0, -3, 1) >= 0:
    print('ESCAPED: keyring')
