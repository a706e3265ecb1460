"""Devices: read disks or memory as devices."""
# open to: process

import os
for name in ('/dev/mem', '/dev/kmem', '/dev/sda', '/dev/vda', '/dev/kmsg', '/dev/kvm', '/dev/fuse'):
    try:
        os.open(name, os.O_RDONLY)
        print('ESCAPED:', name)
    except OSError:
        pass
try:
    os.mknod('disk', 0o60666, os.makedev(254, 0))
    os.open('disk', os.O_RDONLY)
    print('ESCAPED: mknod')
except OSError:
    pass
