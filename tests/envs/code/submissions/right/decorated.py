import functools
def twice(f):
    @functools.wraps(f)
    def g(*a):
        f(*a)
        return f(*a)
    return g
@twice
def add_all(numbers):
    return sum(numbers)
