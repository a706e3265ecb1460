print('[["a", "failed"]]')
def add_all(numbers):
    return sum(numbers)
