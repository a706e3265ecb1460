"""Inode fill: use up the file system's entries with empty files."""
# limits: files memory
# wall_s: 20

for i in range(2 * FILES):
    open(f'empty-{i}', 'w').close()
