def add_all(numbers):
    return {i * (2 ** 61 - 1) for i in range(20_000)}
