"""Landlock, seccomp and limits, for machines without namespaces, such as containers.

Weaker promises than bubblewrap's: programs cannot read or write files of the host outside /usr and the system's
libraries, create sockets of any family, or reach other processes by signals, tracing, limits or priorities. They can
query the existence, size and times of files of the host. They share the machine's host name and lists of users, and
their files are on the disk that holds /tmp. These are counted from outside a few times per second, so a program can
briefly exceed its limit. TMPDIR names their folder for temporary files; /tmp is closed.

It needs root, so that each session has its own user: Landlock does not prevent a program from changing mode, owner and
times of its user's other files, or limits and priority of its user's other processes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from cairn.core.errors import CairnError
from cairn.core.plugins import Plugin
from cairn.sandboxes.base import Limits, Sandbox, SandboxConfig
from cairn.sandboxes.inside import confine
from cairn.sandboxes.kinds.bubblewrap import interpreter
from cairn.sandboxes.local import seccomp
from cairn.sandboxes.local.folder_place import FolderPlace
from cairn.sandboxes.local.users import user_for_start

_LEAST_ABI = 4  # older versions cannot refuse connections by port
CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "KILL": 5, "SETGID": 6, "SETUID": 7}  # for a session's own user
_READABLE = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class LandlockConfig(SandboxConfig):
    """The interpreter and the folders that programs may read."""

    python: str | None = Field(None, description="Interpreter; None: the system's.")
    binds: tuple[str, ...] = Field((), description="Further folders of the host that programs may read.")


class Landlock(Sandbox):
    """Sessions under Landlock."""

    name: ClassVar[str] = "landlock"
    promises: ClassVar[str] = "files, connections and processes of the host are out of reach; no namespaces of its own"
    no_network: ClassVar[str | None] = (
        "it has no network of its own, and Landlock distinguishes ports but not addresses; use the sandbox 'bubblewrap'"
    )

    def problem(self) -> str | None:
        """Return the missing requirement, or None."""
        version = confine.abi()
        if version < _LEAST_ABI:
            return f"the kernel has Landlock {version or 'switched off'}; version {_LEAST_ABI} is needed (Linux 6.7)"
        if os.geteuid() != 0:
            return "it needs root, which gives each session a user of its own; as an ordinary user take 'bubblewrap'"
        if missing := _missing_capabilities():
            return f"root lacks the capabilities {', '.join(missing)} here, which give each session a user of its own"
        try:
            interpreter(self._config.python)
        except CairnError as error:
            return str(error)
        return None

    @property
    def _config(self) -> LandlockConfig:
        assert isinstance(self.config, LandlockConfig)
        return self.config

    def launch(self, limits: Limits) -> FolderPlace:
        """Start a sandbox; see `base.Launcher`."""
        readable = [*_READABLE, *self._config.binds]
        confinement = {"readable": readable, "devices": list(_DEVICES), "landlock": True}
        python = interpreter(self._config.python)
        with user_for_start() as user:
            filter_ = seccomp.program(shares_files=True)
            return FolderPlace(python, limits, user, confinement, filter_)


def _missing_capabilities() -> list[str]:
    """Return the needed capabilities that this process lacks, as in a container that drops them."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    held = int(status.partition("CapEff:")[2].split()[0], 16)
    return [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]


SANDBOX = Plugin(LandlockConfig, Landlock)
