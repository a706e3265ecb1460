"""Secrets in the environment: read the host's environment variables, its own or those of other processes."""
# open to: process

import os
if SECRET in str(dict(os.environ)):
    print('ESCAPED: inherited')
for name in os.listdir('/proc') if os.access('/proc', os.R_OK) else []:
    try:
        if SECRET.encode() in open(f'/proc/{name}/environ', 'rb').read():
            print('ESCAPED: of process', name)
    except OSError:
        pass
