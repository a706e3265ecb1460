def add_all(numbers):
    return "\ud800" * 100
