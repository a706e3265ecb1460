def add_all(numbers):
    return numbers[0] + add_all(numbers[1:]) if numbers else 0
