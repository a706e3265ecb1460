"""Files in memory: fill files that have no name and belong to no process, which nobody counts."""
# wall_s: 8
# open to: process

import os

kept = []
try:
    for _ in range(16):
        file = os.memfd_create('fill')
        kept.append(file)
        os.write(file, bytes(MEMORY_BYTES // 8))
    print('ESCAPED:', sum(os.fstat(file).st_size for file in kept), 'bytes')
except OSError:
    raise SystemExit(1)
