"""Memory bomb: take all memory in one process."""
# limits: memory
# wall_s: 8

kept = []
while True:
    kept.append(bytearray(32 << 20))
