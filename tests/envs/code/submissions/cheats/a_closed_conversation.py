import os
def add_all(numbers):
    os.close(3)
