"""Disk fill: fill the disk with many files."""
# limits: disk memory
# wall_s: 8

for i in range(8):
    with open(f'fill-{i}', 'wb') as file:
        file.write(bytes(DISK_BYTES // 4))
