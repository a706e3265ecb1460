def add_all(numbers):
    print('adding', numbers, 'x' * 10_000)
    return sum(numbers)
