class Endless:
    __iter__ = __next__ = lambda self: self
def add_all(numbers):
    return Endless()
