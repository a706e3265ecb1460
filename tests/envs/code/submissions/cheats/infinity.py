def add_all(numbers):
    return float("inf")
