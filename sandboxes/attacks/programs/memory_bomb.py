"""Memory bomb: take all memory in one process."""
# limits: memory
# wall_s: 8

import time
kept = []
for _ in range(16):
    kept.append(bytearray(MEMORY_BYTES // 8))
time.sleep(60)
