"""Mount: mount a file system, or bind one over another."""
# open to: process

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b'none', b'.', b'tmpfs', 0, None) == 0 or libc.mount(b'/', b'.', None, 4096, None) == 0:
    print('ESCAPED: mounted')
