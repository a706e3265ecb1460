"""Core_pattern: have the kernel run a program of theirs as root when something crashes."""
# open to: process

for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger'):
    try:
        open(path, 'w').close()
        print('ESCAPED:', path)
    except OSError:
        pass
