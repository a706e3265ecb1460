def add_all(numbers):
    while True:
        yield 6
