import sys
sys.setrecursionlimit(5000)
def deep(n):
    return 0 if n == 0 else deep(n - 1)
def add_all(numbers):
    return sum(numbers) + deep(2000)
