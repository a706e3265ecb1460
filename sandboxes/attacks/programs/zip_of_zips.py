"""Zip of zips: fill memory and disk by unpacking a file of a few kilobytes."""
# limits: cpu disk memory wall
# wall_s: 15

import io, zipfile
zeros = bytes(DISK_BYTES // 4)
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    for i in range(16):
        archive.writestr(f'{i}', zeros)
with zipfile.ZipFile(buffer) as archive:
    archive.extractall('out')
