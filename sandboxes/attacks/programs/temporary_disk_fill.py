"""Temporary disk fill: fill the folder for temporary files."""
# limits: disk memory
# wall_s: 8

import tempfile
for i in range(8):
    with open(f'{tempfile.gettempdir()}/fill-{i}', 'wb') as file:
        file.write(bytes(DISK_BYTES // 4))
