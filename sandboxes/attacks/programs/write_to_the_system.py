"""Write to the system: change what programs after this one will run."""
# open to: process

import os
for path in ('/usr/bin/x', '/etc/x', '/x', '/opt/x', '/dev/x', '/usr/lib/python3/x', '/var/tmp/x'):
    try:
        open(path, 'w').close()
        os.unlink(path)
        print('ESCAPED:', path)
    except OSError:
        pass
