"""A seccomp filter for programs in a sandbox (classic BPF, no library).

Refused: namespaces, mounts, tracing and reading of other processes, kernel keys, modules, BPF, io_uring, performance
counters, clocks, System V and POSIX message passing (it outlives processes), every kind of socket except those within
the sandbox, pushing characters into a terminal, and each call that is newer than this list. The filter's first rule
refuses calls of another architecture, whose numbers mean other calls.

If programs can name files of the host (`shares_files`), no socket can be created, since Landlock does not restrict
which socket files a program connects to; `socketpair` is allowed.
"""

from __future__ import annotations

import platform
import struct

from cairn.core.errors import CairnError

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = 0, 4, 16, 24, 32  # offsets in struct seccomp_data, low words
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NEWEST = 463  # calls from here on appear as not implemented
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_UNIX, _INET = 1, 2
_STREAM, _KIND, _TCP = 1, 0xF, 6
_AND = 0x54
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

# Numbers from the kernel's own tables: (x86_64, aarch64); None: the architecture does not have the call.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280), "chroot": (161, 51),
    "clock_adjtime": (305, 266), "clock_settime": (227, 112), "create_module": (174, None),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "lookup_dcookie": (212, 18), "mbind": (237, 235),
    "migrate_pages": (256, 238), "modify_ldt": (154, None), "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "move_pages": (279, 239), "mq_getsetattr": (245, 185), "mq_notify": (244, 184),
    "mq_open": (240, 180), "mq_timedreceive": (243, 183), "mq_timedsend": (242, 182), "mq_unlink": (241, 181),
    "msgctl": (71, 187), "msgget": (68, 186), "msgrcv": (70, 188), "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264), "nfsservctl": (180, 42), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pivot_root": (155, 41),
    "process_madvise": (440, 440), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "request_key": (249, 218), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "set_mempolicy": (238, 237), "setdomainname": (171, 162), "sethostname": (170, 161),
    "setns": (308, 268), "settimeofday": (164, 170), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197),
    "shmget": (29, 194), "swapoff": (168, 225), "swapon": (167, 224), "sysfs": (139, None), "syslog": (103, 116),
    "umount2": (166, 39), "unshare": (272, 97), "uselib": (134, None), "userfaultfd": (323, 282),
    "ustat": (136, None), "vhangup": (153, 58),
}  # fmt: skip
_MEMFD_CREATE, _MEMFD_SECRET = (319, 279), (447, 447)
_CLONE, _CLONE3, _SOCKET, _IOCTL = (56, 220), (435, 435), (41, 198), (16, 29)
_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def program(
    *,
    has_network: bool = False,
    shares_files: bool = False,
    has_memory_files: bool = False,
    machine: str | None = None,
) -> bytes:
    """Return the filter for a machine, by default this one.

    Args:
        has_network: TCP over IPv4 is allowed.
        shares_files: programs can name files of the host.
        has_memory_files: in-memory files can be created. Only a control group counts them: they belong to no process.
        machine: as `platform.machine` names it.

    Raises:
        CairnError: no table of calls exists for this kind of machine.
    """
    kind = machine or platform.machine()
    if kind not in _ARCHES:
        raise CairnError(f"No list of system calls for {kind!r}; sandboxes with seccomp run on {', '.join(_ARCHES)}")
    column, audit = _ARCHES[kind]
    rules = [_op(_LOAD, _ARCH), _op(_EQUAL, audit, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if kind == "x86_64":
        rules += [_op(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _ERROR | _ENOSYS)]
    rules += [_op(_AT_LEAST, _NEWEST, 0, 1), _op(_RETURN, _ERROR | _ENOSYS)]
    for numbers in _REFUSED.values():
        if (number := numbers[column]) is not None:
            rules += [_op(_EQUAL, number, 0, 1), _op(_RETURN, _ERROR | _EPERM)]
    if not has_memory_files:
        for calls in (_MEMFD_CREATE, _MEMFD_SECRET):
            rules += [_op(_EQUAL, calls[column], 0, 1), _op(_RETURN, _ERROR | _ENOSYS)]
    # clone3 hides its flags in memory, which a filter cannot read; without it the C library uses clone
    rules += [_op(_EQUAL, _CLONE3[column], 0, 1), _op(_RETURN, _ERROR | _ENOSYS)]
    rules += _if_call(_CLONE[column], [_op(_LOAD, _ARGUMENT_0), *_refuse(_ANY_BIT, _NEW_NAMESPACES)])
    rules += _if_call(
        _IOCTL[column], [_op(_LOAD, _ARGUMENT_1), *_refuse(_EQUAL, _TIOCSTI), *_refuse(_EQUAL, _TIOCLINUX)]
    )
    refused = [_op(_RETURN, _ERROR | _EAFNOSUPPORT)]
    rules += _if_call(_SOCKET[column], refused if shares_files else _families(has_network))
    return b"".join([*rules, _op(_RETURN, _ALLOW)])


def _families(has_network: bool) -> list[bytes]:
    """Return the rules for socket(family, kind, protocol): Unix sockets, and TCP with a network.

    Other streams over IPv4, such as SCTP and MPTCP, are large parts of the kernel that no program here needs.
    """
    rules = [_op(_LOAD, _ARGUMENT_0), _op(_EQUAL, _UNIX, 0, 1), _op(_RETURN, _ALLOW)]
    if has_network:
        protocol = [_op(_LOAD, _ARGUMENT_2), _op(_EQUAL, 0, 1, 0), _op(_EQUAL, _TCP, 0, 1), _op(_RETURN, _ALLOW)]
        kind = [_op(_LOAD, _ARGUMENT_1), _op(_AND, _KIND), _op(_EQUAL, _STREAM, 0, len(protocol)), *protocol]
        rules += [_op(_EQUAL, _INET, 0, len(kind)), *kind]
    return [*rules, _op(_RETURN, _ERROR | _EAFNOSUPPORT)]


def _if_call(number: int, rules: list[bytes]) -> list[bytes]:
    """Return rules for one call; afterwards the call's number is loaded again."""
    body = [*rules, _op(_LOAD, _NUMBER)]
    return [_op(_EQUAL, number, 0, len(body)), *body]


def _refuse(test: int, value: int) -> list[bytes]:
    return [_op(test, value, 0, 1), _op(_RETURN, _ERROR | _EPERM)]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
