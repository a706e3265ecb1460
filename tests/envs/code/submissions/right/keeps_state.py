seen = {}
def add_all(numbers):
    key = tuple(numbers)
    seen.setdefault(key, sum(key))
    return seen[key]
