"""BPF, performance counters, io_uring: reach parts of the kernel that have been broken before."""
# open to: process

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in (321, 298, 425, 323, 101, 310, 246, 175, 313):
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
        print('ESCAPED: call', number, ctypes.get_errno())
