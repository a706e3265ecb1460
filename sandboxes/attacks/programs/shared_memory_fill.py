"""Shared memory fill: take memory through /dev/shm, where it is nobody's."""
# wall_s: 8
# open to: process

kept = 0
try:
    for i in range(32):
        with open(f'/dev/shm/fill-{i}', 'wb') as file:
            kept += file.write(bytes(MEMORY_BYTES // 16))
    print('ESCAPED:', kept, 'bytes')
except OSError:
    raise SystemExit(1)
