def add_all(numbers):
    pass
