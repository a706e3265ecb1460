def add_all(numbers):
    return range(10 ** 18)
