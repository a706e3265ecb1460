"""Serves an environment's web pages on this machine's loopback address, until Ctrl-C.

An environment has web pages if a module `web` exists beside its own module or that of a base class, and exports
``make_app(env, task)``, an ASGI application. Other machines cannot reach the server.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from cairn.core.errors import CairnError
from cairn.core.server_socket import listen
from cairn.envs import registry
from cairn.envs.base import TextEnv

HOST = "127.0.0.1"


def serve(name: str, config: Mapping[str, Any], task: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Args:
        name: the environment's id, or PACKAGE.MODULE:CLASS.
        config: its settings.
        task: the task that the start page offers first; "": the first of the split.
        port: the port to listen on; 0: any free one.
        announce: called with the URL once the server listens.

    Raises:
        CairnError: the environment has no web pages, the task does not exist, or the port is in use.
    """
    import uvicorn

    pages, env = _web(name), registry.make(name, **config)
    if env.config.perturb:
        raise CairnError("Web pages are served as they are: leave out the setting perturb")
    app = pages.make_app(env, task)
    with listen(HOST, port) as listening:
        server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="warning", access_log=False, lifespan="off", ws="none", proxy_headers=False,
                server_header=False, timeout_graceful_shutdown=2,
            )
        )  # fmt: skip
        announce(f"http://{HOST}:{listening.getsockname()[1]}/")
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            return  # Ctrl-C ends the server; whether it arrives here depends on the event loop


def _web(name: str) -> Any:  # Any: a module
    """Return the module `web` beside the environment's module, or beside that of a base class."""
    env = registry.load(name)
    for module in (made.__module__ for made in env.__mro__ if issubclass(made, TextEnv)):
        package, _, _ = module.rpartition(".")
        place = f"{package}.web"
        web = importlib.import_module(place) if package and importlib.util.find_spec(place) else None
        if hasattr(web, "make_app"):
            return web
    raise CairnError(
        f"Environment {name!r} has no web pages: no module 'web' beside {env.__module__!r} has a make_app."
    )
