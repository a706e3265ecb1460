"""Namespaces: become root in a new user namespace."""
# open to: process

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x00020000, 0x40000000, 0x10020000):
    if libc.unshare(flags) == 0:
        print('ESCAPED: unshare', hex(flags))
if libc.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0:
    print('ESCAPED: clone')
