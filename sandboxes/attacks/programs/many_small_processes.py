"""Many small processes: have the supervisor killed in place of its many small children."""
# limits: memory processes
# wall_s: 8

import os, time
for _ in range(PROCESSES - 4):
    if os.fork() == 0:
        kept = bytearray(2 * MEMORY_BYTES // (PROCESSES - 4))
        for i in range(0, len(kept), 4096):
            kept[i] = 1
        time.sleep(60)
os.wait()
raise SystemExit(1)
