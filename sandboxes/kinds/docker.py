"""Containers: each session is a Docker container, on this machine or at DOCKER_HOST.

The container has its own network, which is empty or has one proxy to the addresses of a list (`network`); a read-only
root, no capabilities and no way to gain any, an unprivileged user, Docker's own seccomp profile with ours in addition
for programs, and limits on memory, processes and CPU. The work folder, /tmp and /dev/shm are size-limited file systems
in memory. Its process 1 is the supervisor, which ends when its standard input closes: if Cairn dies, the programs in
its containers end too. With `gvisor`, programs use gVisor's kernel instead of the host's.

Not protected against: vulnerabilities of the kernel, with `gvisor` off; hardware leaks; the content of the image.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from cairn.core.errors import CairnError, MissingExtraError, SandboxFailure
from cairn.core.plugins import Plugin
from cairn.sandboxes.base import Limits, NoNetworkError, Sandbox, SandboxConfig
from cairn.sandboxes.container import docker_engine
from cairn.sandboxes.container.container import ContainerPlace, remove_left_over
from cairn.sandboxes.destinations import AllowList
from cairn.sandboxes.network.networked import NetworkedPlace
from cairn.sandboxes.sandbox_process import SandboxProcess

_RUNTIME = "runsc"


class DockerConfig(SandboxConfig):
    """The image of the container, and its runtime."""

    image: str = Field("python:3.11-slim", min_length=1, description="Image; it must have Python 3.9 or newer.")
    build: str | None = Field(
        None, description="Folder with a Dockerfile; its image is made once, and takes the place of `image`."
    )
    python: str = Field("python3", min_length=1, description="The image's interpreter: a name, or a path.")
    gvisor: bool = Field(False, description="Run on gVisor; the engine must have its runtime `runsc`.")


class Docker(Sandbox):
    """Sessions in containers."""

    name: ClassVar[str] = "docker"
    promises: ClassVar[str] = "files, processes, network, users and memory of the host are out of reach; own images"
    no_network: ClassVar[str | None] = None

    def __init__(self, config: SandboxConfig) -> None:
        super().__init__(config)
        if self._config.gvisor and config.network:
            raise NoNetworkError("The sandbox 'docker' takes no `network` with gVisor, which hands out no sockets")
        self._version: str | None = None  # version of the engine's protocol
        self._has_tidied = False

    @property
    def _config(self) -> DockerConfig:
        assert isinstance(self.config, DockerConfig)
        return self.config

    def problem(self) -> str | None:
        """Return the missing requirement, and how to get it."""
        try:
            engine = self._connected()
        except MissingExtraError as error:
            return str(error)
        except docker_engine.EngineError as error:
            return docker_engine.advice(error)
        with contextlib.closing(engine):
            try:
                return self._lacking(engine)
            except (CairnError, docker_engine.EngineError) as error:
                return str(error)

    def launch(self, limits: Limits) -> SandboxProcess:
        """Start a sandbox; see `base.Launcher`."""
        try:
            engine = self._connected()
            try:
                if not self._has_tidied:
                    remove_left_over(engine)
                    self._has_tidied = True
                return self._place(engine, limits)
            except BaseException:  # also on an interrupt: the connection must not stay open
                engine.close()
                raise
        except docker_engine.EngineError as error:
            raise SandboxFailure(f"A container did not start: {error}") from error

    def _place(self, engine: Any, limits: Limits) -> SandboxProcess:
        network, runtime = self._config.network, _RUNTIME if self._config.gvisor else None
        place = ContainerPlace(
            engine, self._image(engine), self._config.python, limits, runtime, has_network=bool(network)
        )
        if network:
            return NetworkedPlace(place, AllowList(network))
        return place

    def _connected(self) -> Any:  # Any: the SDK has no types
        engine = docker_engine.connect(self._version)
        self._version = engine.api_version
        return engine

    def _lacking(self, engine: Any) -> str | None:
        """Return the missing feature or image of the engine, or None."""
        with docker_engine.converted_errors():
            runtimes = engine.info()["Runtimes"] if self._config.gvisor else {}
        if self._config.gvisor and _RUNTIME not in runtimes:
            return (
                f"the engine has no runtime {_RUNTIME!r}, only {', '.join(sorted(runtimes))}; install gVisor and make "
                "it known (sudo runsc install, then restart Docker), or set gvisor = false"
            )
        if self._config.network and not docker_engine.is_of_this_machine():
            return "`network` needs an engine of this machine, by a socket file; run `cairn sandbox serve` on the other"
        if self._config.build is not None:
            docker_engine.digest(Path(self._config.build))
        elif docker_engine.image(engine, self._config.image) is None:
            name = self._config.image
            return f"the engine has no image {name!r}; get it (docker pull {name}), or name another"
        return None

    def _image(self, engine: Any) -> dict[str, Any]:
        build = self._config.build
        name = self._config.image if build is None else docker_engine.image_made(engine, Path(build))
        found = docker_engine.image(engine, name)
        if found is None:
            raise SandboxFailure(f"The engine has no image {name!r} any more")
        return dict(found)


SANDBOX = Plugin(DockerConfig, Docker)
