import threading
def add_all(numbers):
    out = []
    t = threading.Thread(target=lambda: out.append(sum(numbers)))
    t.start(); t.join()
    return out[0]
