import atexit, warnings
atexit.register(print, 'bye')
warnings.warn('careful')
def add_all(numbers):
    return sum(numbers)
