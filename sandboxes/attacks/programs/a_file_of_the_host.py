"""A file of the host: read a file that only the host's user should."""
# open to: process

try:
    print('ESCAPED:', open(SECRET_FILE).read())
except OSError:
    pass
