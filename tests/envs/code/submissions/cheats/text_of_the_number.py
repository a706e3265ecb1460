def add_all(numbers):
    return str(sum(numbers))
