"""Other processes: see what else runs on the machine."""
# open to: process

import os
try:
    others = [n for n in os.listdir('/proc') if n.isdigit()]
except OSError:
    others = []
if str(PID) in others and os.path.exists(f'/proc/{PID}/cmdline') and b'python' in open(f'/proc/{PID}/cmdline', 'rb').read():
    print('ESCAPED: sees the host')
