def add_all(numbers):
    return (n for n in range(1000))
