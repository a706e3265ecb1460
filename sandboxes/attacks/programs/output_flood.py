"""Output flood: drown the reader of standard output."""
# limits: output

import os
while True:
    os.write(1, b'x' * 65536)
