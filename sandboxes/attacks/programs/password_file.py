"""Password file: read /etc/shadow."""
# open to: process

try:
    print('ESCAPED:', open('/etc/shadow').read(40))
except OSError:
    pass
