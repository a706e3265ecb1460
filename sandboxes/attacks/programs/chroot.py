"""Chroot: leave by changing the root."""
# open to: process

import os
try:
    os.mkdir('cell')
    os.chroot('cell')
    print('ESCAPED: chroot')
except OSError:
    pass
