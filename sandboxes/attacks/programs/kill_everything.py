"""Kill everything: kill the supervisor, its siblings, and all that may be signalled."""
# open to: process

import os, signal
for target in (1, os.getppid()):
    for number in (9, 19, 15, 6, 11):
        try:
            os.kill(target, number)
        except OSError:
            pass
