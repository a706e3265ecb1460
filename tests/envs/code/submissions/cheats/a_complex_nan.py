def add_all(numbers):
    return complex("nan+infj")
