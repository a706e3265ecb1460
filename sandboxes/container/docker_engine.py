"""Docker's engine through its own SDK: connection, errors, and image builds.

The SDK is optional and has no types: its objects are `Any`, and it is imported when a connection is made.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cairn.core.errors import CairnError, MissingExtraError

TIMEOUT_S = 60.0
_BUILDING = threading.Lock()
_SHOWN = 400  # characters of a failed build's last output


class EngineError(Exception):
    """The engine is not available, or refused; the text has the reason."""


class NotThere(EngineError):  # noqa: N818  (an answer, not always a fault)
    """The requested object does not exist in the engine."""


def connect(version: str | None = None) -> Any:
    """Return a connection to the engine of the environment (DOCKER_HOST etc.), for one thread.

    `version`: of its protocol, if known; otherwise the engine is asked.

    Raises:
        MissingExtraError: the SDK is not installed.
        EngineError: no engine answers.
    """
    with converted_errors():
        import docker

        return docker.APIClient(version=version or "auto", timeout=TIMEOUT_S, **docker.utils.kwargs_from_env())


def is_of_this_machine() -> bool:
    """Whether the engine of the environment is reached by a socket file."""
    where = os.environ.get("DOCKER_HOST")
    return not where or where.startswith("unix://")


@contextlib.contextmanager
def converted_errors() -> Iterator[None]:
    """Convert errors of the SDK, of HTTP and of sockets to `EngineError`.

    Raises:
        MissingExtraError: the SDK is not installed.
    """
    try:
        import docker.errors
        import requests
    except ImportError:
        raise MissingExtraError("The sandbox 'docker'", "docker") from None
    try:
        yield
    except docker.errors.NotFound as error:
        raise NotThere(_text(error)) from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise EngineError(_text(error)) from error


def advice(error: EngineError) -> str:
    """Return advice for an engine that does not answer."""
    where = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if "Permission denied" in str(error):
        return (
            f"this user may not talk to the engine at {where}; join its group (sudo usermod -aG docker $USER, then log "
            "in again), or name an engine of your own with DOCKER_HOST"
        )
    return (
        f"no engine answers at {where} ({error}); install Docker and start it (sudo systemctl start docker), or name "
        "another with DOCKER_HOST"
    )


def image_made(engine: Any, folder: Path) -> str:
    """Return the tag of the image of a folder's Dockerfile; build it if the engine lacks it.

    Raises:
        EngineError: the build failed.
    """
    tag = f"cairn-sandbox:{digest(folder)[:16]}"
    with _BUILDING:
        if image(engine, tag) is None:
            with converted_errors():
                steps = engine.build(path=str(folder), tag=tag, rm=True, forcerm=True, decode=True)
                _watch_build(steps, folder)
    return tag


def image(engine: Any, name: str) -> Mapping[str, Any] | None:
    """Return the engine's data of an image, or None if it does not exist.

    Raises:
        EngineError: the engine does not answer.
    """
    try:
        with converted_errors():
            found: Mapping[str, Any] = engine.inspect_image(name)
            return found
    except NotThere:
        return None


def digest(folder: Path) -> str:
    """Return a hash of a folder: of paths, contents, and execute permissions.

    Raises:
        CairnError: it has no Dockerfile.
    """
    if not (folder / "Dockerfile").is_file():
        raise CairnError(f"`build`: there is no {folder / 'Dockerfile'}; name a folder that has one")
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or path.is_file():
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            kind = "link" if path.is_symlink() else f"{path.stat().st_mode & 0o111:o}"
            whole.update(f"{path.relative_to(folder).as_posix()}\0{kind}\0{len(data)}\0".encode())
            whole.update(data)
    return whole.hexdigest()


def _watch_build(steps: Iterator[Mapping[str, Any]], folder: Path) -> None:
    output = ""
    for step in steps:
        output = (output + str(step.get("stream", "")))[-_SHOWN:]
        if "error" in step:
            raise EngineError(f"the image of {folder} cannot be made: {step['error']}; before that: {output.strip()}")


def _text(error: Exception) -> str:
    return str(getattr(error, "explanation", None) or error).strip()[:_SHOWN]
