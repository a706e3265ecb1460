def add_all(numbers):
    while True:
        pass
