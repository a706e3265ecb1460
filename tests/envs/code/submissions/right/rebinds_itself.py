def add_all(numbers):
    global add_all
    add_all = sum
    return sum(numbers)
