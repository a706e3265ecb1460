"""Disk fill: fill the disk with many files."""
# limits: disk memory
# wall_s: 8

for i in range(100):
    with open(f'fill-{i}', 'wb') as file:
        file.write(bytes(16 << 20))
