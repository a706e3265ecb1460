"""Forged answer: write what looks like the supervisor's answer to every descriptor there is."""

import os, struct
body = b'{"ended": true, "exit": 0, "signal": null, "wall_s": 0, "cpu_s": 0, 'b'"peak_memory": 0, "limit": null, "line": 0, "out": 6}'
for fd in range(3, 64):
    try:
        os.write(fd, struct.pack('!II', len(body), 6) + body + b'FORGED')
        print('ESCAPED: wrote to', fd)
    except OSError:
        pass
raise SystemExit(7)
