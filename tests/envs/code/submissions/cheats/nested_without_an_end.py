def add_all(numbers):
    out = []
    for _ in range(100_000):
        out = [out]
    return out
