def add_all(numbers):
    return "x" * 5_000_000
