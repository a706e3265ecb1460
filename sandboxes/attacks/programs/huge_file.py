"""Huge file: write one file of twice the disk limit."""
# limits: file disk
# wall_s: 8

with open('huge', 'wb') as file:
    for _ in range(2 * DISK_BYTES >> 20):
        file.write(bytes(1 << 20))
