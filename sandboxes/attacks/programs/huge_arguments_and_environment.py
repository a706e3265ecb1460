"""Huge arguments and environment: break the launcher with more than a command line holds."""

import os
try:
    os.execve('/usr/bin/env', ['env'] + ['x' * 100_000] * 1000, {'A' * 1000: 'x' * (1 << 22)})
except OSError:
    raise SystemExit(1)
