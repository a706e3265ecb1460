def add_all(numbers):
    found = []
    found.append(found)
    return found
