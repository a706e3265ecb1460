"""Inode fill: use up the file system's entries with empty files."""
# limits: files memory
# wall_s: 20

for i in range(300_000):
    open(f'empty-{i}', 'w').close()
