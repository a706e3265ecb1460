def add_all(numbers):
    return sum(numbers)
