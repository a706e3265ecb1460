"""Confines a program where the launcher cannot create namespaces: Landlock, then seccomp.

Each program is confined after its fork and before any of its code runs. Confinement cannot be undone, and children
inherit it.
"""

from __future__ import annotations

import ctypes
import os
import struct

PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ALL_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


class Rules:
    """The files that a program may access, and its system call filter."""

    def __init__(
        self, filter: bytes, readable: list[str], writable: list[str], devices: list[str], landlock: bool
    ) -> None:
        self.filter, self.landlock = filter, landlock
        self.readable, self.writable, self.devices = readable, writable, devices


def uncover() -> None:
    """Make this process dumpable again; the supervisor, of which it is a fork, stays undumpable."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def abi() -> int:
    """Return the kernel's version of Landlock, or 0 if it has none."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def enter(rules: Rules) -> None:
    """Confine this process for good.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if rules.landlock:
        _landlock(libc, rules)
    if rules.filter:
        program = ctypes.create_string_buffer(rules.filter, len(rules.filter))
        pointer = struct.pack("HxxxxxxP", len(rules.filter) // 8, ctypes.addressof(program))
        _check(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(pointer), 0, 0))


def _landlock(libc: ctypes.CDLL, rules: Rules) -> None:
    version = abi()
    files = _ALL_FILES[min(version, 5)]
    ports = _BIND_AND_CONNECT if version >= 4 else 0
    scopes = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    wanted = struct.pack("QQQ", files, ports, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.c_char_p(wanted), ctypes.c_size_t(len(wanted)), 0)
    _check(ruleset)
    look = _EXECUTE | _READ_FILE | _READ_DIR
    for paths, rights in (
        (rules.readable, look),
        (rules.writable, files & ~_IOCTL_DEV),
        (rules.devices, _READ_FILE | _WRITE_FILE),
    ):
        for path in paths:
            if os.path.exists(path):
                _allow(libc, ruleset, path, rights)
    _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        rights &= _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
    rule = struct.pack("=Qi", rights, fd)
    _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0))
    os.close(fd)


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
