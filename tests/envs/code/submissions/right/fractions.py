from fractions import Fraction
def add_all(numbers):
    return float(sum(map(Fraction, numbers)))
