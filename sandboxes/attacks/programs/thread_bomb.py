"""Thread bomb: the same with threads."""
# limits: processes memory wall
# open to: process

import threading, time
started = 0
try:
    while started < 2 * PROCESSES:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
    print('ESCAPED:', started, 'threads')
except RuntimeError:
    raise SystemExit(1)
