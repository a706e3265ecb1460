"""Home folders: list the homes of the host's users."""
# open to: process

import os
for path in ('/root', '/home'):
    try:
        print('ESCAPED:', path, os.listdir(path))
    except OSError:
        pass
