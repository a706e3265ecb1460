"""Setuid: become root by calls or by programs that are."""
# open to: process

import os, subprocess
before = os.getuid()
for change in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0)):
    try:
        change()
        print('ESCAPED: uid', os.getuid())
    except OSError:
        pass
for command in (['su', '-c', 'id -u'], ['sudo', '-n', 'id', '-u'], ['mount']):
    try:
        done = subprocess.run(command, capture_output=True, timeout=1, stdin=subprocess.DEVNULL)
        if done.stdout.strip() == b'0':
            print('ESCAPED:', command)
    except (OSError, subprocess.TimeoutExpired):
        pass
