class Changing:
    count = 0
    @property
    def value(self):
        Changing.count += 1
        return Changing.count
    def __getattr__(self, name):
        return self.value
def add_all(numbers):
    return Changing()
