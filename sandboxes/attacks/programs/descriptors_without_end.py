"""Descriptors without end: use up the machine's open files."""

import os
kept = []
try:
    for _ in range(2 * OPEN_FILES):
        kept.append(os.open('/dev/null', 0))
    print('ESCAPED:', len(kept))
except OSError:
    raise SystemExit(1)
