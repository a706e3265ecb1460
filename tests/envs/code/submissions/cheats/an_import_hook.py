import sys
class Hook:
    def find_spec(self, name, *a):
        print("asked for", name)
sys.meta_path.insert(0, Hook())
def add_all(numbers):
    return None
