"""Kernel limits of one process, and the time allowed to a program that waits for a CPU."""

from __future__ import annotations

import contextlib
import resource

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

SLOWEST = 10  # factor of its limit that a program may take in wall time, if it waits for a processor


def restrict(limits: dict[str, Any], is_lasting: bool) -> None:
    """Set the limits of this process; `Watch` enforces the limits of all processes together.

    `is_lasting`: the program stays open between turns, and `Watch` limits the CPU time of a turn.
    """
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_NPROC: limits.get("own_processes"),
        resource.RLIMIT_AS: limits.get("address_space"),
        resource.RLIMIT_CPU: None if is_lasting else int(limits["cpu_s"]) + 2,
    }
    for name, value in wanted.items():
        if value is not None:
            hard = resource.getrlimit(name)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (value, value))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # missing if /proc is closed
        file.write("1000")
