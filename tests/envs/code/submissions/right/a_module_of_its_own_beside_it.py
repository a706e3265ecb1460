import os
open('adding.py', 'w').write('def total(numbers):\n    return sum(numbers)\n')
import importlib
importlib.invalidate_caches()
import adding
add_all = adding.total
