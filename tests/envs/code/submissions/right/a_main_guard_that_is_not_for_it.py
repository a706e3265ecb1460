def add_all(numbers):
    return sum(numbers)
if __name__ == '__main__':
    raise SystemExit(1)
