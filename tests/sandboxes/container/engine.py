"""A Docker engine for tests, and an image for it made of this machine's own Python: no registry, a few seconds."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from cairn.sandboxes.container import docker_engine

IMAGE = "cairn-test:python"
_PYTHON = Path("/usr/bin/python3")
_PROGRAMS = ("sh", "cat", "echo", "env", "false", "id", "kill", "ln", "ls", "mkfifo", "sleep", "true", "wc")
_LEFT_OUT = re.compile(
    r"/(dist-packages|ensurepip|idlelib|lib2to3|pydoc_data|site-packages|test|tkinter|turtledemo|config-[^/]*)(/|$)"
)
_START_S = 30.0


@contextlib.contextmanager
def engine(folder: Path) -> Iterator[str | None]:
    """Give why there is no engine, or None: the environment names one, which is started here unless one answers."""
    problem = _trouble()
    if problem is None or os.geteuid() != 0 or shutil.which("dockerd") is None or "DOCKER_HOST" in os.environ:
        yield problem
        return
    with _own_engine(folder) as address:
        os.environ["DOCKER_HOST"] = address
        try:
            yield None
        finally:
            del os.environ["DOCKER_HOST"]


def make_image(*changes: str, tag: str = IMAGE) -> None:
    """Make an image of this machine's Python and a few programs; `changes`: lines of a Dockerfile.

    Raises:
        EngineError: the engine refuses.
    """
    connection = docker_engine.connect()
    with contextlib.closing(connection), docker_engine.converted_errors():
        name, _, version = tag.partition(":")
        connection.import_image_from_data(_root(), repository=name, tag=version, changes=list(changes))


def remove_images() -> None:
    """Remove the images of the tests."""
    connection = docker_engine.connect()
    with (
        contextlib.closing(connection),
        contextlib.suppress(docker_engine.EngineError),
        docker_engine.converted_errors(),
    ):
        for name in ("cairn-test", "cairn-sandbox"):
            for image in connection.images(name, quiet=True):
                connection.remove_image(image, force=True)


def _trouble() -> str | None:
    try:
        docker_engine.connect().close()
    except Exception as error:  # noqa: BLE001  (any error means that these tests cannot run)
        return f"no Docker engine: {error}"
    return None


@contextlib.contextmanager
def _own_engine(folder: Path) -> Iterator[str]:
    """Start an engine that leaves the machine's network alone and knows no other's containers."""
    address = f"unix://{folder}/engine.sock"
    command = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-H", address]
    command += ["--pidfile", f"{folder}/pid", "--iptables=false", "--bridge=none", "--ip-forward=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        until = time.monotonic() + _START_S
        while not (folder / "engine.sock").exists() or not _answers(address):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("dockerd did not start: " + (folder / "log").read_text()[-1000:])
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    import docker

    try:
        docker.APIClient(base_url=address, version="auto", timeout=5).close()
    except docker.errors.DockerException:
        return False
    return True


def _root() -> bytes:
    """Return a root file system as a tape archive: Python, its library, a few programs, and their shared libraries."""
    programs = [str(_PYTHON), *(found for name in _PROGRAMS if (found := shutil.which(name, path="/usr/bin")))]
    library = Path("/usr/lib") / _PYTHON.resolve().name
    linked = _linked([*programs, *map(str, library.glob("lib-dynload/*.so"))])
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for name in ("proc", "dev", "sys", "tmp", "etc"):
            _add_folder(tar, name, 0o755)
        for name in ("data", "open"):  # folders that anyone may write to, unless another rule forbids it
            _add_folder(tar, name, 0o777)
        for path in sorted({*programs, *linked, "/usr/bin/python3"}):
            tar.add(path, path.lstrip("/"))
        tar.add(library, str(library).lstrip("/"), filter=_kept)
        _add_link(tar, "bin", "usr/bin")
        for name in ("lib", "lib64"):
            if Path("/", name).is_symlink() and not any(path.startswith(f"/{name}/") for path in linked):
                _add_link(tar, name, f"usr/{name}")
    return archive.getvalue()


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _LEFT_OUT.search(f"/{member.name}") else member


def _linked(files: list[str]) -> set[str]:
    """Return the libraries that files need, where their loader looks for them."""
    said = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, flags=re.MULTILINE))


def _add_folder(tar: tarfile.TarFile, name: str, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, mode
    tar.addfile(member)


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    tar.addfile(member)
