"""CPU burned by a family: use more CPU time than one process may, in several."""
# limits: cpu wall

import os
for _ in range(4):
    os.fork()
while True:
    pass
