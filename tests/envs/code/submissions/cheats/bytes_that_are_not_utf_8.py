import os
def add_all(numbers):
    os.write(3, b"\xff\xfe\n")
