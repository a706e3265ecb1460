"""Folder without a bottom: break whoever walks or empties the work folder."""
# wall_s: 8

import os
for depth in range(3000):
    os.mkdir('d')
    os.chdir('d')
open('end', 'w').close()
os.chmod('.', 0)
