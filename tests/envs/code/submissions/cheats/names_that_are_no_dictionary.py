import os
os.write(3, b'{"value": {"ref": 0}, "names": 3}\n')
