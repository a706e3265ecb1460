"""A link to a file of the host: have it read through a symbolic link."""
# open to: process

import os
os.symlink(SECRET_FILE, 'link')
try:
    print('ESCAPED:', open('link').read())
except OSError:
    pass
