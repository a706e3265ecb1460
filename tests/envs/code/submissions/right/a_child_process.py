import subprocess
def add_all(numbers):
    done = subprocess.run(['python3', '-c', f'print(sum({list(numbers)!r}))'], capture_output=True, text=True)
    return eval(done.stdout)
