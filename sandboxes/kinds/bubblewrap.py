"""Namespaces without a daemon: one bubblewrap process per session, with or without root.

The sandbox has a read-only root with the system's /usr and no other files of the host; a work folder, /tmp and /dev/shm
in memory, each with a size limit; its own processes, users, host name and IPC; and its own network, which is empty or
has one proxy to the addresses of a list (`network`). System calls that could lead out are refused by seccomp. Root
drops its rights before bubblewrap starts: for the kernel, a user of a sandbox that root has started would be root.
Bubblewrap itself is started with an empty environment, because programs may read it.

Not protected against: vulnerabilities of the kernel, hardware leaks, and disclosure of the system's version.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from cairn.core.errors import CairnError
from cairn.core.plugins import Plugin
from cairn.sandboxes import supervisor_source
from cairn.sandboxes.base import Limits, Sandbox, SandboxConfig
from cairn.sandboxes.destinations import AllowList
from cairn.sandboxes.local import seccomp
from cairn.sandboxes.local.place import LocalPlace
from cairn.sandboxes.local.users import take_user, user_for_start
from cairn.sandboxes.network.networked import NetworkedPlace
from cairn.sandboxes.sandbox_process import SandboxProcess

_HOME = "/work"
_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")
_SHM_BYTES = 1 << 20
_SYSTEM = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
_CERTIFICATES = ("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs")
_OWN = ("/tmp", "/dev", "/proc", _HOME)


def _outside(path: str) -> str:
    """Check that a host folder does not collide with one of the sandbox's own."""
    if not path.startswith("/") or any(f"{path}/".startswith(f"{own}/") for own in _OWN):
        raise ValueError(f"expected an absolute path outside of {', '.join(_OWN)}")
    return path


class BubblewrapConfig(SandboxConfig):
    """The interpreter and the readable folders of the sandbox."""

    python: str | None = Field(
        None, description="Interpreter; None: the system's. It must lie in /usr or in a folder of `binds`."
    )
    binds: tuple[Annotated[str, AfterValidator(_outside)], ...] = Field(
        (), description="Further folders of the host that programs may read, at the same paths."
    )


class Bubblewrap(Sandbox):
    """Sessions in namespaces."""

    name: ClassVar[str] = "bubblewrap"
    promises: ClassVar[str] = "files, processes, network, users and memory of the host are out of reach"
    no_network: ClassVar[str | None] = None

    def problem(self) -> str | None:
        """Return the missing requirement, and how to get it."""
        if shutil.which("bwrap") is None:
            return "there is no bwrap; install bubblewrap (apt-get install bubblewrap), or use another sandbox"
        try:
            interpreter(self._config.python)
        except CairnError as error:
            return str(error)
        return _namespaces_refused()

    @property
    def _config(self) -> BubblewrapConfig:
        assert isinstance(self.config, BubblewrapConfig)
        return self.config

    def launch(self, limits: Limits) -> SandboxProcess:
        """Start a sandbox; see `base.Launcher`."""
        with contextlib.ExitStack() as stack:
            user = stack.enter_context(user_for_start())
            filter_fd = stack.enter_context(_memory_file(seccomp.program(has_network=bool(self._config.network))))
            hello = {
                "roots": ["/tmp", "/dev/shm"],
                "is_first": True,
                "limits": {
                    "has_own_disk": True,
                    "address_space": None,
                    "has_network": bool(self._config.network),
                },
            }
            place = LocalPlace(
                list(_command(limits, self._config, filter_fd)),
                home=_HOME,
                limits=limits,
                user=user,
                has_own_user=True,
                hello=hello,
                pass_fds=[filter_fd],
                on_close=lambda: None if user is None else user.release(),
            )
        if self._config.network:
            return NetworkedPlace(place, AllowList(self._config.network))
        return place


def interpreter(chosen: str | None) -> str:
    """Return the path of the Python to run.

    Raises:
        CairnError: it does not exist.
    """
    for path in (chosen,) if chosen else _PYTHONS:
        if Path(path).exists():
            return path
    asked = chosen or " or ".join(_PYTHONS)
    raise CairnError(f"there is no {asked}; install Python there (apt-get install python3), or name one with `python`")


def _command(limits: Limits, config: BubblewrapConfig, filter_fd: int) -> Iterator[str]:
    yield from ("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1")
    yield from ("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if (link := Path("/", name)).is_symlink():
            yield from ("--symlink", os.readlink(link), f"/{name}")
        elif link.is_dir():
            yield from ("--ro-bind", f"/{name}", f"/{name}")
    for path in (*_SYSTEM, *(_CERTIFICATES if config.network else ())):
        yield from ("--ro-bind-try", path, path)
    for path in config.binds:
        yield from ("--ro-bind", path, path)
    for size, path in ((_SHM_BYTES, "/dev/shm"), (limits.disk_bytes, "/tmp"), (limits.disk_bytes, _HOME)):
        yield from ("--perms", "0700", "--size", str(size), "--tmpfs", path)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", _HOME, "--clearenv")
    yield from ("--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--uid", "1000", "--gid", "1000")
    yield from ("--hostname", "sandbox", "--cap-drop", "ALL", "--seccomp", str(filter_fd))
    yield from ("--setenv", "PYTHONHASHSEED", "0")  # equal programs give equal outputs
    yield from supervisor_source.command(interpreter(config.python))


@contextlib.contextmanager
def _memory_file(data: bytes) -> Iterator[int]:
    fd = os.memfd_create("cairn")
    try:
        os.write(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


@functools.cache
def _namespaces_refused() -> str | None:
    """Return why the kernel does not permit namespaces, or None; tested once."""
    user = take_user()
    number = None if user is None else user.number
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    tried = subprocess.run(
        command, capture_output=True, user=number, group=number, extra_groups=None if user is None else [], check=False
    )
    if user is not None:
        user.release()
    if tried.returncode == 0:
        return None
    stderr = tried.stderr.decode("utf-8", "replace").strip()[:200]
    return f"this machine lets us make no namespaces ({stderr}); use the sandbox 'landlock', or 'docker'"


SANDBOX = Plugin(BubblewrapConfig, Bubblewrap)
