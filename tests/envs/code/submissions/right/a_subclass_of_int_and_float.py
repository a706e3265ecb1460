class I(int):
    pass
class F(float):
    pass
def add_all(numbers):
    total = sum(numbers)
    return F(total) if isinstance(total, float) else I(total)
