def add_all(numbers):
    return float("nan")
