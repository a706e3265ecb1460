"""Memory bomb of a family: take all memory with eight processes, each of them modest."""
# limits: memory
# wall_s: 8

import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(MEMORY_BYTES // 4)
        for i in range(0, len(kept), 4096):
            kept[i] = 1
        time.sleep(60)
os.wait()
raise SystemExit(1)
