"""Error flood: drown the reader of standard error."""
# limits: output

import os
while True:
    os.write(2, b'x' * 65536)
