"""Calls by 32-bit numbers: pass the filter with the numbers of another architecture."""
# open to: process

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
number = libc.syscall(0x40000000 + 39)
if number > 0:
    print('ESCAPED: x32', number)
