import json
def add_all(numbers):
    with open('numbers', 'w') as file:
        json.dump(numbers, file)
    with open('numbers') as file:
        return sum(json.load(file))
