"""Endless loop that takes no hint: go on when it is asked to end."""
# limits: wall cpu

import signal
for n in range(1, 32):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
