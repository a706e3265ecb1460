def add_all(numbers):
    raise ValueError("\udcff\ud800")
