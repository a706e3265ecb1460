def add_all(numbers):
    total = 0
    while numbers:
        total += numbers.pop()
    return total
