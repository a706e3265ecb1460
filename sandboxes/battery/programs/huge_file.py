"""Huge file: write one file without end."""
# limits: file disk
# wall_s: 8

with open('huge', 'wb') as file:
    while True:
        file.write(bytes(1 << 20))
