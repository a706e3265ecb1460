"""Landlock, seccomp and limits, where the kernel lets us make no namespaces: in a container, say.

Smaller promises than bubblewrap's: programs cannot read or write files of the host outside /usr and the system's
libraries, make sockets of any family, or reach other processes by signals, tracing, limits or priorities. They can ask
for the existence, size and times of files of the host. Where they run as the user of this process, a call that changes
mode, owner, times or attributes of a file has no effect, also within the sandbox: a script is started by its
interpreter. They share the machine's host name and lists of users, and their files lie on the disk that holds /tmp;
these are counted from outside a few times a second, so a program can exceed its limit for a moment. TMPDIR names their
folder for temporary files; /tmp is closed.
"""

from __future__ import annotations

import os
from typing import ClassVar

from pydantic import Field

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits, Sandbox, SandboxConfig
from cairn.sandboxes.inside import confine
from cairn.sandboxes.kinds.bubblewrap import interpreter
from cairn.sandboxes.local import seccomp
from cairn.sandboxes.local.folder_place import FolderPlace
from cairn.sandboxes.local.users import user_for_start

_LEAST_ABI = 4  # before it, connections cannot be refused by port
_LEAST_ABI_OF_USERS = 6  # before it, signals to other processes of the same user cannot be refused
_READABLE = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class LandlockConfig(SandboxConfig):
    """What programs may read."""

    python: str | None = Field(None, description="Interpreter; None: the system's.")
    binds: tuple[str, ...] = Field((), description="Further folders of the host that programs may read.")


class Landlock(Sandbox):
    """Sessions under Landlock."""

    Config: ClassVar[type[SandboxConfig]] = LandlockConfig
    name: ClassVar[str] = "landlock"
    promises: ClassVar[str] = "files, connections and processes of the host are out of reach; no namespaces of its own"
    no_network: ClassVar[str | None] = (
        "it has no network of its own, and Landlock tells ports apart but no addresses; use the sandbox 'bubblewrap'"
    )

    def problem(self) -> str | None:
        """Return what is missing."""
        version = confine.abi()
        if version < _LEAST_ABI:
            return f"the kernel has Landlock {version or 'switched off'}; version {_LEAST_ABI} is needed (Linux 6.7)"
        if os.geteuid() != 0 and version < _LEAST_ABI_OF_USERS:
            return (
                f"the kernel has Landlock {version}, which lets programs send signals to other processes of their "
                f"user; as an ordinary user, version {_LEAST_ABI_OF_USERS} is needed (Linux 6.12)"
            )
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
        """Start a place; see `base.Launcher`."""
        readable = [*_READABLE, *self._config.binds]
        confinement = {"readable": readable, "devices": list(_DEVICES), "landlock": True}
        python = interpreter(self._config.python)
        with user_for_start() as user:
            filter_ = seccomp.program(shares_files=True, shares_user=user is None)
            return FolderPlace(python, limits, user, confinement, filter_)


SANDBOX = Landlock
