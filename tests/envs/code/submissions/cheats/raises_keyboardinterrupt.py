def add_all(numbers):
    raise KeyboardInterrupt
