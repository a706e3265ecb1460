def add_all(numbers):
    return "x" * 3_000_000
