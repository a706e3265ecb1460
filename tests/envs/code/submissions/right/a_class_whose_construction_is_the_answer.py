class add_all:
    def __new__(cls, numbers):
        return sum(numbers)
