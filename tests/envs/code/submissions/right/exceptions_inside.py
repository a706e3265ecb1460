def add_all(numbers):
    total, i = 0, 0
    try:
        while True:
            total += numbers[i]
            i += 1
    except IndexError:
        return total
